"""The ClientApp of a simulation: the hospital's own, at sites whose tables follow from the run's settings."""

from flwr.app import Context, Message
from flwr.clientapp.typing import ClientAppCallable

from clients.app import app_of_tasks
from clients.table.simulated import use_tables
from simulations.data import sites

__all__ = ["app"]


def with_tables(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Use these tables: Flower's workers get the app as references, and import only the modules of these."""
    use_tables(sites)
    return call_next(message, context)


app = app_of_tasks([with_tables])
