"""PAN-SVM's ClientApp in somebody else's Flower app, over rows that a function returns: for simulation and research.

::

    app = client_app(data=my_rows)

``my_rows(context)`` returns a site's DataFrame, or ``(X, y)``. A hospital's rows are no app's to give: its SuperNode
runs what it has installed, over the table of its own node config.
"""

from typing import TYPE_CHECKING, Any

from flower_pansvm.doors import open_door

if TYPE_CHECKING:
    from simulations.own_app import client_app

__all__ = ["client_app"]

PLACES = {"client_app": "simulations.own_app"}


def __getattr__(name: str) -> Any:
    """Import it when it is asked for."""
    return open_door(__name__, PLACES, name)
