"""From a request to a reply: the ordered list of all that happens to a message at a site.

:func:`handler` has Flower's message and context, makes a :class:`clients.hospital.Hospital` of the context, and waits
until the site does nothing else in the run (:mod:`clients.gate.replay_guard`). Then each step of :data:`PIPELINE` looks
at one :class:`Exchange` and adds to it. No step sees the context.

Flower would send the text of an uncaught exception, and so perhaps a patient's value, to the server. Here
every failure becomes an error reply that names the task and the cause and nothing else. An error's detail, such as the
number of a row, goes into the hospital's own log; only a simulated site, which has no patients, sends it along.
"""

import os
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from flwr.app import Context, Error, Message, RecordDict

from clients.gate.levels import DP, SIMULATED, SUMS, TESTED, TaskRow, level_of
from clients.gate.private import privately
from clients.gate.replay_guard import turn
from clients.gate.reply import encode_relay_reply, encode_reply
from clients.hospital import Hospital, is_simulated, site_name
from clients.membership import Participation, check_member, remember, take_part, take_step, withdraw
from clients.site import Site
from clients.systems import WORK, Work
from flower_pansvm import records
from flower_pansvm.errors import BudgetError, PanSVMError, SettingError
from flower_pansvm.log import logger
from flower_pansvm.printable import printable
from flower_pansvm.summing import RELAY
from flower_pansvm.systems.common import JOIN, JoinQuestion
from flower_pansvm.tasks import Task


@dataclass
class Exchange:
    """A request and its answer so far: what the steps share. Each step sets what the next ones need."""

    name: str  # the task's
    row: TaskRow  # what the table of clients/app.py says of it
    content: RecordDict  # of the message
    hospital: Hospital
    question: Any = None
    level: str = field(init=False)
    task: Task[Any, Any] = field(init=False)
    work: Work[Any, Any] = field(init=False)
    participation: Participation | None = None  # in the secure sum, if the answer is summed
    withdraws_on_error: bool = False  # from when on an error says something of the site's rows
    site: Site = field(init=False)
    answer: Any = field(init=False)
    reply: RecordDict = field(init=False)
    sum_state: bytes = field(init=False)  # what the protocol needs for later steps of the sum


def check_policy(exchange: Exchange) -> None:
    """Check that the hospital's policy allows the request, before anything of its system is imported."""
    if exchange.name == JOIN.name:
        exchange.question = records.read(exchange.content, "inputs", JoinQuestion)
    exchange.level = level_of(exchange.hospital, exchange.name, exchange.row, exchange.question)
    if not exchange.hospital.simulated:
        from clients.runs import admit_run  # noqa: PLC0415 - nobody approves a simulated site's runs

        admit_run(exchange.hospital, exchange.level, exchange.row.system, joins=exchange.name == JOIN.name)


def load_system(exchange: Exchange) -> None:
    """Import the system's file, and read the question.

    SettingError if the task declares other disclosures than the hospital has agreed to.
    """
    name, row = exchange.name, exchange.row
    import_module(f"clients.systems.{row.system}")
    task, work = WORK[name]
    leaves = (SIMULATED,) if task.simulated else (DP, TESTED) if task.dp else (SUMS,)
    if (row.category, frozenset(row.consents)) != (task.category, task.consents) or row.leaves not in leaves:
        raise SettingError(
            f"The row of task '{name}' in clients/app.py, by which a hospital agrees, differs from the "
            "task's declaration in flower_pansvm/systems. This is a fault in the program: make them the same."
        )
    exchange.task, exchange.work = task, work
    if exchange.question is None:
        exchange.question = records.read(exchange.content, "inputs", task.question)


def join_sum(exchange: Exchange) -> None:
    """Check that the site has joined the run, and take part in the secure sum of the request, if it has one."""
    if exchange.name != JOIN.name:
        check_member(exchange.hospital)
    if exchange.task.summed:
        exchange.participation = take_part(
            exchange.hospital, exchange.content, exchange.task, exchange.question
        )
    exchange.withdraws_on_error = True


def choose_view(exchange: Exchange) -> None:
    """Open the site at the level that was agreed: it says whether its system sees the true records or their copy."""
    exchange.site = Site.of(exchange.hospital, exchange.level, exchange.participation)


def keep_broadcasts(exchange: Exchange) -> None:
    """Keep the coordinator's broadcasts and the seeds of other sites, which come with the question."""
    exchange.hospital.keep_broadcasts(exchange.content)
    notes = records.read_each(exchange.content, "notes", bytes)
    if exchange.participation is not None and notes:
        from clients.seeds import receive_seeds  # noqa: PLC0415 - sums of few systems have notes

        receive_seeds(exchange.site, exchange.participation, notes)


def compute(exchange: Exchange) -> None:
    """Have the system compute the answer; one that is `dp` is charged before, and gets its noise after."""
    if exchange.task.dp:
        exchange.answer = privately(exchange.site, exchange.task, exchange.question, exchange.work)
    else:
        exchange.answer = exchange.work(exchange.site, exchange.question)


def encode(exchange: Exchange) -> None:
    """Encode the declared fields of the answer and nothing else; of summed fields only their masked words."""
    notes = exchange.site.outbox
    exchange.reply, exchange.sum_state = encode_reply(
        exchange.task, exchange.answer, exchange.participation, notes
    )


def remember_sum(exchange: Exchange) -> None:
    """Note that the sum has been answered; nothing can fail after this."""
    if exchange.participation is not None:
        remember(exchange.hospital, exchange.participation.memory, exchange.sum_state)


PIPELINE = (check_policy, load_system, join_sum, choose_view, keep_broadcasts, compute, encode, remember_sum)
"""All that happens to a request, in this order: a system's code is loaded after the hospital has agreed, a broadcast
is kept after its sum was found in order, and the level has chosen the records before the system computes."""


def answer_step(exchange: Exchange) -> None:
    """Answer a relay step of a sum that the site has answered: it has no local work but the protocol's own."""
    exchange.reply = encode_relay_reply(take_step(exchange.hospital, exchange.content))


def run(exchange: Exchange) -> RecordDict:
    """Return the reply to a request; a site whose rows have made a step fail withdraws from the run."""
    try:
        for step in (answer_step,) if exchange.name == RELAY.name else PIPELINE:
            step(exchange)
    except BudgetError:
        # It reveals nothing about this site's rows: requests within the budget may follow.
        raise
    except Exception:
        if exchange.withdraws_on_error:
            withdraw(exchange.hospital)
        raise
    return exchange.reply


def handler(name: str, row: TaskRow) -> Callable[[Message, Context], Message]:
    """Return the Flower handler of a task. It always answers, and with an error says nothing but task and cause."""

    def handle(message: Message, context: Context) -> Message:
        started, before = time.monotonic(), time.process_time()
        try:
            content = records.unpacked(message.content)
            with turn(context) as hospital:
                reply = run(Exchange(name, row, content, hospital))
                return Message(
                    reply if content is message.content else records.packed(reply), reply_to=message
                )
        except PanSVMError as error:
            text = error.with_detail()
            if not is_simulated(context):
                logger.error("%s", printable(text))
                # Which hospital's file is meant, or who complains of another, the coordinator has to know.
                site = f"'{site_name(context)}'"
                text = str(error) if site in str(error) else f"Site {site}: {error}"
            return Message(Error(error.code, printable(text)), reply_to=message)
        except Exception as error:
            # The file that it is about, or the lines of code that it has passed through, but not its text.
            system = isinstance(error, OSError) and error.errno
            kind = type(error).__name__ + (f" ({os.strerror(system)})" if system else "")
            where = getattr(error, "filename", None) or "".join(traceback.format_tb(error.__traceback__))
            logger.error("Task '%s' failed with %s at:\n%s", name, kind, where)
            reason = (
                f"Task '{name}' failed at site '{site_name(context)}' with {kind}. "
                "The site's own log says where; it is not sent because it could hold data."
            )
            return Message(Error(PanSVMError.code, printable(reason)), reply_to=message)
        finally:
            if not is_simulated(context):
                # For the hospital alone: how long an answer takes follows from its rows.
                spent = time.monotonic() - started, time.process_time() - before
                logger.info("work on '%s': %.3f s, processor %.3f s", name, *spent)

    return handle
