"""From a request to a reply: what every task of a site has in common.

Flower would send the text of an uncaught exception, and so perhaps a patient's value, to the server. Here
every failure becomes an error reply that names the task and the cause and nothing else. An error's detail, such as the
number of a row, goes into the hospital's own log; only a simulated site, which has no patients, sends it along.
"""

import logging
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.common.logger import log

from clients import broadcasts
from clients.blur import sites_of_run
from clients.door import leave, pass_on
from clients.membership import remember, take_part, take_step, withdraw
from clients.site import Site
from clients.slots import take_seed
from clients.terms import is_simulated, site_name
from clients.turns import turn
from clients.value_refusals import note_value_refusal
from flower_pansvm import records
from flower_pansvm.errors import PanSVMError, TableError, ValueRefusedError
from flower_pansvm.messages import RELAY, Task
from flower_pansvm.printable import printable
from flower_pansvm.records import Value

Handler = Callable[[Message, Context], Message]
Inputs = Mapping[str, Any]
Work = Callable[[Site, Inputs], dict[str, Value]]

UNEXPECTED = PanSVMError.code


def answers(task: Task) -> Callable[[Work], Handler]:
    """Return a decorator that makes a Flower handler of a task's local work.

    Parameters
    ----------
    task : Task
        The task that the decorated function does. The function gets the site and the inputs of the request,
        and returns the results that the task declares.
    """

    def decorate(work: Work) -> Handler:
        return _safely(task, lambda content, context: _answer(task, work, content, context))

    return decorate


def _safely(task: Task, reply: Callable[[RecordDict, Context], RecordDict]) -> Handler:
    """Return a Flower handler that always answers, and with an error says nothing but task and cause."""

    def handler(message: Message, context: Context) -> Message:
        try:
            with turn(context):
                return Message(reply(message.content, context), reply_to=message)
        except PanSVMError as error:
            if error.detail and not is_simulated(context):
                log(logging.ERROR, "%s", printable(error.with_detail()))
            text = error.with_detail() if is_simulated(context) else str(error)
            return Message(Error(error.code, printable(text)), reply_to=message)
        except Exception as error:
            _log_places(task, error)
            reason = (
                f"Task '{task.name}' failed at site '{site_name(context)}' with {type(error).__name__}. "
                "The site's own log says where; it is not sent because it could hold data."
            )
            return Message(Error(UNEXPECTED, printable(reason)), reply_to=message)

    return handler


def _answer(task: Task, work: Work, content: RecordDict, context: Context) -> RecordDict:
    participation = take_part(context, content, task) if task.summed else None
    site = Site(context, participation)
    try:
        broadcasts.keep(context, content)
        if participation is not None:
            sites_of_run(site)
            notes = records.get(content, "notes")
            take_seed(site, participation, {sender: notes.part(sender, bytes) for sender in notes})
        reply, kept = leave(task, work(site, records.get(content, "inputs")), participation, site.outbox)
    except Exception as error:
        withdraw(context)
        if task.summed and isinstance(error, TableError | ValueRefusedError):
            note_value_refusal(context)
        raise
    if participation is not None:
        remember(context, participation, kept)
    return reply


relay = _safely(RELAY, lambda content, context: pass_on(take_step(context, content)))
"""Handler of :data:`~flower_pansvm.messages.RELAY`, which has no local work but the protocol's own."""


def _log_places(task: Task, error: Exception) -> None:
    """Log the lines of code an unexpected error passed through, but not its text."""
    places = "".join(traceback.format_tb(error.__traceback__))
    log(logging.ERROR, "Task '%s' failed with %s at:\n%s", task.name, type(error).__name__, places)
