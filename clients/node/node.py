"""``python -P -m clients.node.node FOLDER ADDRESS``: a hospital's SuperNode: it answers questions.

It runs what is installed and nothing that is sent: the bundle of a run is compared with the installed files, and the
run refused where they differ (:mod:`flower_pansvm.bundle`). It listens nowhere and starts no process: no other account
of the machine can hand it a question or take one. Each run has a context of its own, whatever series the SuperLink says
that it belongs to, and only of the latest runs.

``pansvm hospital start`` runs it (:mod:`clients.deployment.supernode`). What it does it writes into a file, which says
to that command that it lives, and to ``pansvm hospital status`` how it is.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections import OrderedDict
from pathlib import Path
from types import FrameType
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from flwr.app import Context, Error, Message, RecordDict
from flwr.common.constant import ErrorCode
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.proto.message_pb2 import Message as ProtoMessage
from flwr.proto.message_pb2 import ObjectTree
from flwr.supercore.task_identity import TaskIdentity

from clients.app import app
from clients.hospital import site_name
from clients.ledger.ledger import now
from clients.node.node_config import AUTHORITY_FILE, FLOWER_FOLDER, KEY_FILE, NODE_FILE, read_node_config
from clients.node.node_status import REFUSED, UNUSABLE, NodeStatus
from clients.node.superlink import NotLetInError, RunEndedError, SuperLink
from flower_pansvm.bundle import check_bundle, hash_of, installed_files, run_defaults
from flower_pansvm.errors import FederationError, PanSVMError, SettingError
from flower_pansvm.log import logger
from flower_pansvm.printable import printable
from flower_pansvm.systems.common import JOIN

QUESTION_FILE = "question"
"""In Flower's folder: the head of the question that is being answered. If the process is killed, the next one refuses
it: else the coordinator waits for a reply until its time is up."""

SOON_SECONDS, BUSY_SECONDS, IDLE_SECONDS = 0.25, 60.0, 3.0
"""Pauses between two looks for a question: for a minute after the last one, and afterwards."""

BEAT_SECONDS = 15.0
MOST_RUNS, MOST_NAME = 8, 60


class HospitalNode:
    """Answers the questions of one SuperLink, one after the other."""

    def __init__(self, folder: Path, address: str, authority: bytes, key: EllipticCurvePrivateKey) -> None:
        self._folder, self._node_config = folder, read_node_config(folder)
        self.status, self._question = NodeStatus(folder), folder / FLOWER_FOLDER / QUESTION_FILE
        self._software = hash_of(installed_files())
        self.status.set(config=self._node_config, software=self._software)
        self._link = SuperLink(address, authority, key, self._trouble)
        self._runs: OrderedDict[int, Context] = OrderedDict()
        # The last question and its reply, which is sent again if it was lost on the way: the same bytes.
        self._answered: tuple[tuple[int, str, str], RecordDict] | None = None
        self._computing: int | None = None  # the run whose question is being answered
        self._ended: int | None = None  # a run of which the server has said that it was stopped

    def serve(self) -> None:
        """Answer questions until a signal ends it; NotLetInError if the server does not know this hospital."""
        signal.signal(signal.SIGUSR1, self._give_up)
        threading.Thread(target=self._beat, daemon=True).start()
        self._link.activate()
        try:
            self.status.set(connected_since=now())
            _print_line("connected; waits for the coordinator's questions")
            self._refuse_lost_question()
            asked = -BUSY_SECONDS
            while True:
                if (pulled := self._link.pull()) is not None:
                    self._serve(*pulled)
                    asked = time.monotonic()
                else:
                    busy = time.monotonic() - asked < BUSY_SECONDS
                    time.sleep(SOON_SECONDS if busy else IDLE_SECONDS)
        finally:
            self._link.deactivate()

    def _serve(self, head: Message, tree: ObjectTree) -> None:
        """Take in one question, answer it, and send the reply, unless its run is stopped meanwhile."""
        # First of all: of a process that is killed before, the coordinator waits for a reply until its time is up.
        with contextlib.suppress(OSError):  # of a full disk
            self._question.write_bytes(message_to_proto(head).SerializeToString())
        run_id = head.metadata.run_id
        task = printable(head.metadata.message_type.partition(".")[2], MOST_NAME)
        _print_line(f"asked for {task}")
        self.status.set(question={"time": now(), "task": task, "run": str(run_id)}, answering=True)
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 0, run_id, self._link.node_id
        try:
            begun = time.monotonic()
            reply = self._reply(head, tree)
            taken = self._link.push(reply, time.monotonic() - begun)
            untaken = f"The reply to {task} was not taken: it came too late, or the run has ended"
            _print_line(f"replied to {task}" if taken else untaken)
        except RunEndedError:
            _print_line(f"The run was stopped; its question for {task} is given up")
            self._runs.pop(run_id, None)
        except NotLetInError:  # the process ends, and the next one refuses the question
            raise
        except Exception as error:  # of a server that wants what it may not have
            _print_line(f"The reply to {task} cannot be sent ({type(error).__name__})")
        self._forget_question()
        self.status.set(answering=False)

    def _reply(self, head: Message, tree: ObjectTree) -> Message:
        """Return the installed ClientApp's reply to a question, or a refusal of its run."""
        run_id, kind = head.metadata.run_id, head.metadata.message_type
        context = Context(run_id, self._link.node_id, self._node_config, RecordDict(), {})
        try:
            if run_id not in self._runs and kind != JOIN.message_type:
                raise ChildProcessError  # whose end took the run's context along
            context = self._context(run_id)
            message = self._link.content(run_id, tree)
            question = run_id, kind, message.content.object_id
            if self._answered and self._answered[0] == question:
                return Message(self._answered[1], reply_to=message)
            self._computing = run_id
            reply = app(message, context)
            self._answered = (question, reply.content) if reply.has_content() else None
            return reply
        except (RunEndedError, NotLetInError):
            raise
        except PanSVMError as error:
            code, text = error.code, str(error)
        except ChildProcessError:
            code, text = ErrorCode.CLIENT_APP_CRASHED, "The SuperNode was started anew since this run began."
        # Its text may hold anything; with this code a run goes on without the site.
        except Exception as error:
            code = ErrorCode.CLIENT_APP_RAISED_EXCEPTION
            text = f"The ClientApp failed with {type(error).__name__}."
        finally:
            self._computing = None
        logger.error("%s", text)
        return Message(Error(code, f"Site '{site_name(context)}': {text}"), reply_to=head)

    def _context(self, run_id: int) -> Context:
        """Return the context of a run, which its first question begins; FederationError if its bundle is another."""
        if hash_of(installed_files()) != self._software:
            raise FederationError(
                "flower-pansvm was installed anew at this hospital while its SuperNode ran: start that again there."
            )
        if run_id not in self._runs:
            if not self._same_config():
                raise FederationError(
                    f"{NODE_FILE} was changed at this hospital while its SuperNode ran: start that again there."
                )
            run, bundle = self._link.run(run_id)
            check_bundle(bundle, run.fab_version)
            config = {**run_defaults(bundle), **run.override_config}
            self._runs[run_id] = Context(run_id, self._link.node_id, self._node_config, RecordDict(), config)
            while len(self._runs) > MOST_RUNS:
                self._runs.popitem(last=False)
        self._runs.move_to_end(run_id)
        return self._runs[run_id]

    def _same_config(self) -> bool:
        """Tell whether the node config still says what it said when this process began."""
        try:
            return read_node_config(self._folder) == self._node_config
        except SettingError:
            return False

    def _refuse_lost_question(self) -> None:
        """Refuse the question that a process had which was killed, if there is one."""
        if not self._question.exists():
            return
        try:
            head = message_from_proto(ProtoMessage.FromString(self._question.read_bytes()))
            TaskIdentity.task_id, TaskIdentity.run_id = 0, head.metadata.run_id
            TaskIdentity.node_id = self._link.node_id
            error = Error(ErrorCode.CLIENT_APP_CRASHED, "The SuperNode was ended by force and started again.")
            self._link.push(Message(error, reply_to=head), 0.0)
        except RunEndedError:
            pass
        except NotLetInError:
            raise
        except Exception as error:  # a part of a file, or of another node
            _print_line(f"The question of the last process cannot be refused ({type(error).__name__})")
        self._forget_question()

    def _forget_question(self) -> None:
        """Remove the question's file; where the disk does not let it, the next process refuses an answered one."""
        with contextlib.suppress(OSError):
            self._question.unlink()

    def _beat(self) -> None:
        """Say every few seconds, to the server and to this machine, that this process lives."""
        parent = os.getppid()
        while True:
            if os.getppid() != parent:  # `pansvm hospital start` was killed: the next one starts another
                os.kill(os.getpid(), signal.SIGTERM)
                return
            run_id = self._computing
            if not self._link.heartbeat(run_id) and run_id is not None:
                self._ended = run_id
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
            # A server that holds the last call for ever is to be noticed by who starts this process again.
            if self._computing is not None or not self._link.stuck:
                self.status.set()
            time.sleep(BEAT_SECONDS)

    def _give_up(self, _number: int, _frame: FrameType | None) -> None:
        """Leave a computation whose run was stopped; Python calls this in the main thread, between two steps."""
        # Meanwhile it may have gone on to a question of another run.
        if self._computing is not None and self._computing == self._ended:
            raise RunEndedError

    def _trouble(self, reason: str) -> None:
        """Say once what is wrong with the connection, and when it is in order again."""
        before = self.status.get("trouble")
        if reason and reason != before:
            _print_line(f"{reason} It is tried again.")
            self.status.set(trouble=reason, connected_since=None)
        elif before and not reason:
            _print_line("the connection is back")
            self.status.set(trouble="", connected_since=now())


def _print_line(text: str) -> None:
    """Write a line for the log, which ``pansvm hospital start`` reads."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> None:
    """Run the SuperNode of a hospital's folder; it ends with one sentence and an exit code, or by a signal."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    folder, address = Path(arguments[0]), arguments[1]
    try:
        key: Any = load_ssh_private_key((folder / KEY_FILE).read_bytes(), None)
        authority = (folder / AUTHORITY_FILE).read_bytes()
        node = HospitalNode(folder, address, authority, key)
    except (PanSVMError, OSError, ValueError) as error:
        _print_line(f"Error: {error}")
        sys.exit(UNUSABLE)
    try:
        node.serve()
    except NotLetInError as error:
        _print_line(f"Error: {error}")
        sys.exit(REFUSED)


if __name__ == "__main__":
    main(sys.argv[1:])
