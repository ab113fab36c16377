"""From a request to a reply: what every task of a site has in common.

Flower would send the text of an uncaught exception, and so perhaps a patient's value, to the server. Here
every failure becomes an error reply that names the task and the cause and nothing else. An error's detail, such as the
number of a row, goes into the hospital's own log; only a simulated site, which has no patients, sends it along.
"""

import logging
import os
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from flwr.app import Context, Error, Message, RecordDict
from flwr.common.logger import log

from clients.gate import broadcasts
from clients.gate.levels import Row, level_of
from clients.gate.membership import remember, take_part, take_step, withdraw
from clients.gate.private import privately
from clients.gate.replay_guard import turn
from clients.gate.reply import leave, pass_on
from clients.gate.seeds import take_seeds
from clients.policy import site_name
from clients.simulated import is_simulated
from clients.site import Site
from flower_pansvm import records
from flower_pansvm.errors import BudgetError, PanSVMError
from flower_pansvm.printable import printable
from flower_pansvm.summing import RELAY
from flower_pansvm.systems.common import JOIN, JoinQuestion
from flower_pansvm.tasks import Task

Q = TypeVar("Q")
A = TypeVar("A")
Handler = Callable[[Message, Context], Message]
Work = Callable[[Site, Q], A]

SPENT = "work on '%s': %.3f s, processor %.3f s; processor before, to start this process, %.3f s"

WORK: dict[str, tuple[Task[Any, Any], Work[Any, Any]]] = {}
"""The tasks of the systems that this process has imported, by name, and the work that answers each."""


def answers(task: Task[Q, A]) -> Callable[[Work[Q, A]], Work[Q, A]]:
    """Return a decorator of a task's local work: a function that gets site and question, and returns the answer.

    ValueError if something else answers the task already.
    """

    def enter(work: Work[Q, A]) -> Work[Q, A]:
        if task.name in WORK:
            raise ValueError(f"Two functions answer the task '{task.name}'. Take one of them out.")
        WORK[task.name] = task, work
        return work

    return enter


def handler(name: str, row: Row) -> Handler:
    """Return the Flower handler of a task, which imports the system that answers it when the hospital agrees to it."""
    if name == RELAY.name:
        # It has no local work but the protocol's own.
        return _safely(name, lambda content, context: pass_on(take_step(context, content)))
    return _safely(name, lambda content, context: _answer(name, row, content, context))


def _safely(name: str, reply: Callable[[RecordDict, Context], RecordDict]) -> Handler:
    """Return a Flower handler that always answers, and with an error says nothing but task and cause."""

    def handler(message: Message, context: Context) -> Message:
        started, before = time.monotonic(), time.process_time()
        try:
            with turn(context):
                return Message(reply(message.content, context), reply_to=message)
        except PanSVMError as error:
            if is_simulated(context):
                return Message(Error(error.code, printable(error.with_detail())), reply_to=message)
            log(logging.ERROR, "%s", printable(error.with_detail()))
            # Which hospital's file is meant, or who complains of another, the coordinator has to know.
            site = f"'{site_name(context)}'"
            text = str(error) if site in str(error) else f"Site {site}: {error}"
            return Message(Error(error.code, printable(text)), reply_to=message)
        except Exception as error:
            # The lines of code that it has passed through, but not its text: that of the system's own is safe.
            system = isinstance(error, OSError) and error.errno
            kind = type(error).__name__ + (f" ({os.strerror(system)})" if system else "")
            places = "".join(traceback.format_tb(error.__traceback__))
            log(logging.ERROR, "Task '%s' failed with %s at:\n%s", name, kind, places)
            reason = (
                f"Task '{name}' failed at site '{site_name(context)}' with {kind}. "
                "The site's own log says where; it is not sent because it could hold data."
            )
            return Message(Error(PanSVMError.code, printable(reason)), reply_to=message)
        finally:
            if not is_simulated(context):
                # For the hospital alone: how long an answer takes follows from its rows.
                spent = time.monotonic() - started, time.process_time() - before, before
                log(logging.INFO, SPENT, name, *spent)

    return handler


def _answer(name: str, row: Row, content: RecordDict, context: Context) -> RecordDict:
    asked = records.read(content, "inputs", JoinQuestion) if name == JOIN.name else None
    level = level_of(context, name, row, asked)
    # Only now: what a hospital does not agree to is not loaded.
    import_module(f"clients.systems.{row.system}")
    task, work = WORK[name]
    participation = take_part(context, content, task) if task.summed else None
    try:
        question = asked or records.read(content, "inputs", task.question)
        site = Site(context, level, participation)
        broadcasts.keep(context, content)
        if participation is not None:
            take_seeds(site, participation, records.read_each(content, "notes", bytes))
        answer = privately(site, task, question, work) if task.dp else work(site, question)
        reply, kept = leave(task, answer, participation, site.outbox)
    except BudgetError:
        # It says nothing about this site's rows: what is still paid for may be asked.
        raise
    except Exception:
        withdraw(context)
        raise
    if participation is not None:
        remember(context, participation.memory, kept)
    return reply
