"""Flower's HTTP client for a server that nobody trusts: every call ends, within limits of size and of time.

Flower's own follows a server to any other address, unpacks what it sends until memory ends, waits for ever for an
answer that comes drop by drop, and ends the process where a server says that the versions differ.
"""

import time
from typing import Any

from flwr.supercore.error import FlowerError
from flwr.supercore.runtime_version_compatibility import RuntimeVersionMetadata
from flwr.supernode.fleet_http_client import FleetHttpClient

from flower_pansvm.errors import FederationError

MOST_BYTES, MOST_ERROR_BYTES = 2**26 + 2**20, 2**16
"""Of an answer, and of all parts of a question: the largest is a model to be tested, which may have 64 MB; a Paillier
sum of 100,000 numbers has 51 MB. Of an answer that is an error: a few sentences."""

CALL_SECONDS, LEAST_RATE = 45.0, 2**16
"""A call may take so long, half as long again as Flower waits in a stall; and more by its bytes, so many a second."""


class HttpClient(FleetHttpClient):
    """Flower's client of one server, within these limits; ``due`` is when its last call has to have ended."""

    def __init__(self, address: str, **more: Any) -> None:
        super().__init__(address, **more)
        self.due = time.monotonic() + CALL_SECONDS
        version = RuntimeVersionMetadata.from_local_component("SuperNode").as_metadata()
        self._client.headers.update({"accept-encoding": "identity", **dict(version)})
        self._client.follow_redirects = False
        self._client.event_hooks = {"request": [self._begin], "response": [self._read]}

    def _begin(self, request: Any) -> None:
        self.due = time.monotonic() + CALL_SECONDS + int(request.headers["content-length"]) / LEAST_RATE

    def _read(self, response: Any) -> None:
        """Read an answer; FederationError if it is packed or longer than any, TimeoutError if it comes too slowly."""
        begun, content, stream = time.monotonic(), bytearray(), response.stream
        packed = response.headers.pop("content-encoding", "identity") != "identity"
        for chunk in stream:
            content += chunk
            if response.is_success and (packed or len(content) > MOST_BYTES):
                raise FederationError(
                    f"The coordinator's server answers with more than {MOST_BYTES // 2**20} MB, or with something "
                    "packed, which no question of this software is. It is changed, or a proxy on the way does it."
                )
            if not response.is_success and len(content) > MOST_ERROR_BYTES:
                break
            self.due = begun + CALL_SECONDS + len(content) / LEAST_RATE
            if time.monotonic() > self.due:
                raise TimeoutError
        stream.close()  # else no other call has the connection
        response.stream = type(response)(response.status_code, content=bytes(content)).stream


def flower_error(response: Any) -> FlowerError | None:
    """Return the error of Flower's own in an answer, None if the error is of somebody else's."""
    try:
        return FlowerError.from_json(response.text)
    except (ValueError, RecursionError):  # of brackets or digits without end
        return None
