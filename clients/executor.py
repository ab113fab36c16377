"""``python -m clients.executor``: answers one message of this hospital's SuperNode with what is installed, and ends.

Flower's own executor unpacks the bundle that the SuperLink sends, into a folder that the SuperLink names, and runs it.
This one compares the bundle with the installed files, refuses a run where they differ, and runs what is installed.
``pansvm hospital start`` starts it beside the SuperNode, and again after each message: it is ready before the next one.

Both sides of the connection prove who they are, as other accounts of this machine can reach it. The SuperNode gives
tasks to nobody without the secret. The executor takes them from nobody without the SuperNode's certificate: with a task
comes the node config, so that whoever could hand out tasks would choose what this hospital agrees to.
"""

import argparse
import logging
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from flwr.app import Context, Error, Message
from flwr.common.constant import ErrorCode, SubStatus
from flwr.common.logger import log
from flwr.proto.runtime_pb2 import AcquireTaskRequest
from flwr.supercore.constant import TaskType
from flwr.supercore.heartbeat import HeartbeatSender, make_task_heartbeat_fn_http
from flwr.supercore.interceptors import (
    RuntimeTokenHttpInterceptor,
    RuntimeVersionHttpInterceptor,
    SuperExecAuthHttpInterceptor,
)
from flwr.supercore.retry import make_simple_http_retry_invoker
from flwr.supercore.run import Run
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supernode.runtime.run_clientapp import pull_task_input, push_message, push_task_output

from clients.app import app
from clients.hospital import site_name
from flower_pansvm.bundle import check_bundle
from flower_pansvm.errors import PanSVMError

POLL_SECONDS = 0.1
START_SECONDS = 60.0
"""Longest wait for a SuperNode that starts."""

VERSION_OF_FLOWER = RuntimeVersionHttpInterceptor(component_name="flwr-clientapp")


def main(arguments: Sequence[str] | None = None) -> None:
    """Wait for a message, answer it, and end; with exit code 1 if the SuperNode gives none."""
    parser = argparse.ArgumentParser(prog="python -m clients.executor")
    parser.add_argument("address", help="the SuperNode's --host and --port, such as 127.0.0.1:9201")
    parser.add_argument("--secret", required=True, type=Path, help="its --superexec-auth-secret-file")
    parser.add_argument("--authority", required=True, type=Path, help="its --ssl-ca-certfile")
    asked = parser.parse_args(arguments)
    authority = asked.authority.read_bytes()
    try:
        token = wait_for_task(asked.address, authority, asked.secret.read_bytes())
    except Exception as error:
        sys.exit(
            f"Error: the SuperNode at {asked.address} gives no task ({type(error).__name__}: {error}). Does it run, "
            "and with these files as --superexec-auth-secret-file and --ssl-ca-certfile?"
        )
    try:
        answer_task(asked.address, authority, token)
    except KeyboardInterrupt:
        sys.exit(
            "Error: a message was given up: the coordinator has stopped its run meanwhile, or this machine stood "
            "still. This hospital is ready for the next message."
        )


def wait_for_task(address: str, authority: bytes, secret: bytes) -> str:
    """Return the token of the SuperNode's next task.

    TimeoutError if nobody answers, and an error of Flower's if the certificate is another's or the secret is refused.
    """
    host, port = address.rsplit(":", 1)
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            break
        except OSError as error:
            if time.monotonic() > deadline:
                raise TimeoutError(str(error)) from None
            time.sleep(POLL_SECONDS)
    proof = SuperExecAuthHttpInterceptor(
        master_secret=secret, protected_methods={"/flwr.proto.Runtime/AcquireTask"}
    )
    client = RuntimeHttpClient.from_server_address(address, False, authority, [VERSION_OF_FLOWER, proof])
    request = AcquireTaskRequest(supported_task_types=[TaskType.CLIENT_APP])
    with client:
        while not (token := client.AcquireTask(request).token):
            time.sleep(POLL_SECONDS)
        return token


def answer_task(address: str, authority: bytes, token: str) -> None:
    """Answer the message of a task.

    If that fails on the way to the SuperNode, this process ends, and the SuperNode tells the coordinator.
    """
    client = RuntimeHttpClient.from_server_address(
        address,
        False,
        authority,
        [VERSION_OF_FLOWER, RuntimeTokenHttpInterceptor(token)],
        retry_invoker=make_simple_http_retry_invoker(),
    )
    heartbeats = HeartbeatSender(make_task_heartbeat_fn_http(client))
    heartbeats.start()
    message, context, run, bundle = pull_task_input(client)
    push_message(client, answer(message, context, run, bundle.content), context)
    push_task_output(client, context, SubStatus.COMPLETED, "")
    heartbeats.stop()
    client.close()


def answer(message: Message, context: Context, run: Run, bundle: bytes) -> Message:
    """Return the installed ClientApp's reply to a message, or a refusal of its run."""
    try:
        check_bundle(bundle, run.fab_version)
        return app(message, context)
    except PanSVMError as error:
        code, text = error.code, str(error)
    except Exception as error:  # its text may hold anything; with this code the run goes on without the site
        code = ErrorCode.CLIENT_APP_RAISED_EXCEPTION
        text = f"The ClientApp failed with {type(error).__name__}."
    log(logging.ERROR, "%s", text)
    return Message(Error(code, f"Site '{site_name(context)}': {text}"), reply_to=message)


if __name__ == "__main__":
    main()
