"""Secure sums for any Flower strategy that takes a weighted mean: who keeps to it learns the mean, and no reply.

In the ServerApp::

    strategy = SecureAggregation(FedAdam(...), protocol="k-secure", bound=16.0)
    strategy.start(grid, initial_arrays, num_rounds=10)

In the ClientApp, whose handlers stay as they are::

    app = secure_client_app(bound=16.0, min_sites=5)


    @app.train()
    def train(message, context): ...
"""

from typing import TYPE_CHECKING, Any

from flower_pansvm.doors import open_door

if TYPE_CHECKING:
    from clients.secagg.app import secure_client_app
    from strategies.secagg.strategy import SecureAggregation

__all__ = ["SecureAggregation", "secure_client_app"]

PLACES = {"SecureAggregation": "strategies.secagg.strategy", "secure_client_app": "clients.secagg.app"}


def __getattr__(name: str) -> Any:
    """Import one of the two when it is asked for."""
    return open_door(__name__, PLACES, name)
