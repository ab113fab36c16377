"""A hospital's connection to the coordinator's SuperLink, by Flower's HTTP API; it outlasts what goes wrong on it.

Flower's SuperNode ends its loop for good, and its process stays, at any answer of a server but 502 to 504, at a
handshake that took too long, and at a bundle that it cannot read. Here every call is tried again, over a new connection
and after a pause that grows: a server that stands still or starts again, a full disk, a proxy, an address that changed,
a laptop that slept. Only a server that does not know this hospital's key ends it, and after two minutes.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from flwr.app import Message
from flwr.app.message import remove_content_from_message
from flwr.common.constant import HEARTBEAT_DEFAULT_INTERVAL
from flwr.common.serde import fab_from_proto, message_from_proto, message_to_proto, run_from_proto
from flwr.proto import fab_pb2, fleet_pb2, heartbeat_pb2, run_pb2
from flwr.proto import message_pb2 as messages
from flwr.proto.message_pb2 import ObjectTree
from flwr.proto.node_pb2 import Node
from flwr.supercore.error import ApiErrorCode
from flwr.supercore.inflatable import inflatable_object as objects
from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents
from flwr.supercore.primitives.asymmetric import public_key_to_bytes
from flwr.supercore.run import Run
from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

from clients.node.http_client import MOST_BYTES, HttpClient, flower_error
from flower_pansvm.errors import FederationError, PanSVMError

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0
UNKNOWN_SECONDS, LEAST_SECONDS_AHEAD, MOST_SECONDS_AHEAD = 120.0, -240.0, 5.0
"""How long a server may refuse this hospital's key: it takes in keys after its start, and takes a SuperNode that was
killed for connected for a minute. And which clocks it takes: it refuses a signature of its future, or an old one."""

CONTENT_SECONDS, WAIT_SECONDS, PART_BYTES = 120.0, 0.1, 2**15
"""How long the coordinator may take to hand a question's parts to its server, which it does after the question itself;
the pause between two looks for one; and for how many bytes the call for a part counts: 2,080 of them are too many."""

NO_RUN, NO_SIGNATURE, NO_ACTIVATION = 403, 401, 412
"""HTTP's codes: the run has ended; the signature is not this node's, or too old; no such node, or it is connected."""


class RunEndedError(Exception):
    """The run that something belongs to has ended at the SuperLink."""


class NotLetInError(PanSVMError):
    """The SuperLink does not let this SuperNode in; the text says why."""


class SuperLink:
    """The SuperLink of a hospital's coordinator, at a host and port, whose certificate an authority has signed (PEM).

    ``trouble`` is given what is wrong whenever a call fails, and an empty text when one does not.
    """

    def __init__(
        self, address: str, authority: bytes, key: EllipticCurvePrivateKey, trouble: Callable[[str], None]
    ) -> None:
        self._address, self._authority, self._key, self._trouble = address, authority, key, trouble
        self._node, self._active, self._beating = Node(), False, threading.Lock()
        self._client, self._beats = self._new_client(), self._new_client()

    def activate(self) -> None:
        """Say that this SuperNode is there; NotLetInError if the server refuses that for two minutes."""
        public, beat = public_key_to_bytes(self._key.public_key()), HEARTBEAT_DEFAULT_INTERVAL
        request = fleet_pb2.ActivateNodeRequest(public_key=public, heartbeat_interval=beat)
        self._stop_heartbeats()
        pause, refused_since = FIRST_PAUSE, None
        while not self._active:
            try:
                self._node = Node(node_id=self._client.ActivateNode(request).node_id)
                self._active = True
            except Exception as error:
                reason, now = self._reconnect(error), time.monotonic()
                refused = _http_status(error) in (NO_SIGNATURE, NO_ACTIVATION)
                refused_since = (refused_since or now) if refused else None
                if refused_since is not None and now - refused_since > UNKNOWN_SECONDS:
                    raise NotLetInError(reason) from None
                time.sleep(pause)
                pause = min(1.5 * pause, LONGEST_PAUSE)
        self._trouble("")

    def deactivate(self) -> None:
        """Say that this SuperNode goes, if the server listens: else it is taken for connected for a minute more."""
        self._stop_heartbeats()
        with contextlib.suppress(Exception):
            self._client.DeactivateNode(fleet_pb2.DeactivateNodeRequest(node_id=self._node.node_id))

    def heartbeat(self, run_id: int | None) -> bool:
        """Say that this SuperNode is there, and tell whether a run goes on, as far as the server says.

        It may be called from another thread. What is wrong with the connection, the next call will say.
        """
        try:
            with self._beating:
                if self._active:
                    request = heartbeat_pb2.SendNodeHeartbeatRequest(
                        node=self._node, heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL
                    )
                    self._beats.SendNodeHeartbeat(request)
            if run_id is not None:
                self._beats.GetRun(run_pb2.GetRunRequest(node=self._node, run_id=run_id))
        except Exception as error:
            if _http_status(error) == NO_RUN:
                return False
            self._beats.close()
            self._beats = self._new_client()
        return True

    def _stop_heartbeats(self) -> None:
        """Let none be sent, nor be on its way: the server takes one for an activation."""
        with self._beating:
            self._active = False

    @property
    def node_id(self) -> int:
        """The number that the SuperLink knows this SuperNode by."""
        return int(self._node.node_id)

    @property
    def stuck(self) -> bool:
        """Whether the last call, but for heartbeats, had to end before now; one who computes makes none."""
        return time.monotonic() > self._client.due

    def pull(self) -> tuple[Message, ObjectTree] | None:
        """Return the next question, without its content, and the tree of that; None if there is none."""
        reply = self._call("PullMessages", fleet_pb2.PullMessagesRequest)
        try:
            heads = [message_from_proto(head) for head in reply.messages_list]
            return next(zip(heads, reply.message_object_trees, strict=True), None)
        except Exception:  # it is no question, and there is nothing to reply to
            return None

    def content(self, run_id: int, tree: ObjectTree) -> Message:
        """Return a question with its content; RunEndedError if its run has ended, FederationError if it has none."""
        parts, size = {}, 0
        deadline = time.monotonic() + CONTENT_SECONDS
        for node in objects.iterate_object_tree(tree):
            wanted = {"run_id": run_id, "object_id": node.object_id}
            while not (
                reply := self._call("PullObject", messages.PullObjectRequest, **wanted)
            ).object_available:
                if not reply.object_found or time.monotonic() > deadline:
                    raise FederationError(
                        "The coordinator's server lacks a part of a question. Start the run again."
                    )
                time.sleep(WAIT_SECONDS)
            parts[node.object_id] = reply.object_content
            size += len(reply.object_content) + PART_BYTES
            if size > MOST_BYTES:
                raise FederationError(
                    f"The coordinator asks a question of more than {MOST_BYTES // 2**20} MB, or of very many parts. "
                    "This site takes none such. Use fewer landmarks or columns, or another secure sum."
                )
        received = {"run_id": run_id, "message_object_id": tree.object_id}
        self._call("ConfirmMessageReceived", messages.ConfirmMessageReceivedRequest, **received)
        message = inflate_object_from_contents(tree.object_id, parts)
        if not isinstance(message, Message):
            raise TypeError
        message.metadata.__dict__["_message_id"] = tree.object_id
        return message

    def run(self, run_id: int) -> tuple[Run, bytes]:
        """Return a run and its bundle; RunEndedError if it has ended."""
        run = run_from_proto(self._call("GetRun", run_pb2.GetRunRequest, run_id=run_id).run)
        bundle = self._call("GetFab", fab_pb2.GetFabRequest, hash_str=run.fab_hash, run_id=run_id)
        return run, fab_from_proto(bundle.fab).content

    def push(self, reply: Message, seconds: float) -> bool:
        """Send a reply, made in so many seconds, and tell whether it was taken; RunEndedError if its run has ended."""
        run_id = reply.metadata.run_id
        reply.metadata.__dict__["_message_id"] = reply.object_id
        with objects.no_object_id_recompute():
            tree, parts = objects.get_object_tree(reply), objects.get_all_nested_objects(reply)
            head = message_to_proto(remove_content_from_message(reply) if reply.has_content() else reply)
            asked = {
                "messages_list": [head],
                "message_object_trees": [tree],
                "clientapp_runtime_list": [seconds],
            }
            taken = stored = False
            while not stored:  # a server that was started again meanwhile wants all of it again
                wanted = self._call("PushMessages", fleet_pb2.PushMessagesRequest, **asked)
                taken |= bool(wanted.objects_to_push)  # of a new reply it has none yet
                of = {"run_id": run_id, "session_id": wanted.session_id}
                pushes = (
                    {**of, "object_id": object_id, "object_content": parts[object_id].deflate()}
                    for object_id in wanted.objects_to_push
                )
                stored = all(
                    self._call("PushObject", messages.PushObjectRequest, **fields).stored for fields in pushes
                )
        return taken

    def _call(self, method: str, request: type[Any], **fields: Any) -> Any:
        """Return the server's answer, however long that takes; RunEndedError if the run has ended.

        FederationError if the answer is beyond all limits: the same would come again.
        """
        pause = FIRST_PAUSE
        while True:
            try:
                answer = getattr(self._client, method)(request(node=self._node, **fields))
            except Exception as error:
                if _http_status(error) == NO_RUN and method != "PullMessages":
                    raise RunEndedError from None
                if isinstance(error, FederationError) and method != "PullMessages":
                    raise
                self._reconnect(error)
                if _http_status(error) == NO_SIGNATURE:
                    # It was too old when the server looked at it, or the server has this hospital under a new number.
                    self.deactivate()
                    self.activate()
                else:
                    time.sleep(pause)
                    pause = min(2 * pause, LONGEST_PAUSE)
            else:
                self._trouble("")
                return answer

    def _reconnect(self, error: Exception) -> str:
        """Take a new connection for the next call, tell what was wrong with this one, and return that."""
        self._client.close()
        self._client = self._new_client()
        reason = _what_is_wrong(self._address, error)
        self._trouble(reason)
        return reason

    def _new_client(self) -> HttpClient:
        """Return a client that connects with its first call, and looks up the server's name then."""
        signing = NodeAuthHttpInterceptor(self._key, self._key.public_key())
        return HttpClient.from_server_address(self._address, False, self._authority, [signing])


def _http_status(error: Exception) -> int:
    """Return HTTP's code of an answer that Flower itself has given as an error; 0 of anything else."""
    response = getattr(error, "response", None)
    if response is None:
        return 0
    status = int(response.status_code)
    # A proxy on the way forbids, too.
    return 0 if status == NO_RUN and flower_error(response) is None else status


def _what_is_wrong(address: str, error: Exception) -> str:
    """Say in a sentence or two what is wrong with the connection, and who can mend it."""
    if isinstance(error, FederationError):
        return str(error)
    response = getattr(error, "response", None)
    if response is not None:
        return _reason_of_answer(address, response)
    if "CERTIFICATE" in str(error).upper():
        return (
            f"The server at {address} is not the coordinator's, or its certificate has expired ({error}). Nothing "
            "was sent. Is this machine's clock right, and does a proxy open TLS? If not, ask the coordinator."
        )
    return f"The server at {address} does not answer ({type(error).__name__})."


def _reason_of_answer(address: str, response: Any) -> str:
    error, status = flower_error(response), int(response.status_code)
    if error is not None and error.code == ApiErrorCode.RUNTIME_VERSION_INCOMPATIBLE:
        return f"The server at {address} has another release of Flower. Install the same flwr on both sides."
    if status == NO_ACTIVATION:
        return (
            f"The server at {address} does not let this SuperNode in. It does not know this hospital's key yet: it "
            "is just starting, or this hospital is not in the invitation that it was started with. Or a SuperNode with "
            "this key is connected: it was killed less than a minute ago, or runs from a copy of this folder."
        )
    if status == NO_SIGNATURE:
        ahead = _seconds_ahead(response.headers.get("date", ""))
        if not LEAST_SECONDS_AHEAD <= ahead <= MOST_SECONDS_AHEAD:
            return f"The clock of this machine is {round(ahead, -1):+.0f} s off the server's, which refuses that."
        return f"The server at {address} does not know this SuperNode by its number. It connects anew."
    return (
        f"The server at {address}, or a proxy on the way, answers with HTTP's {status}. If it stays, "
        "the window of `pansvm coordinator start` says why, for instance that its disk is full."
    )


def _seconds_ahead(date: str) -> float:
    """Return by how much this machine's clock is ahead of a server's, by its HTTP header; 0 if that says nothing."""
    try:
        return time.time() - parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError, OverflowError):
        return 0.0
