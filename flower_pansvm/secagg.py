"""Secure sums for any Flower strategy that takes a weighted mean: the coordinator gets the mean, and no reply.

From means over different sites, sampled ones for instance, even a coordinator that keeps to the protocol computes by
linear equations what does not change between rounds, such as each site's number of examples and its counts of classes:
choose the same sites in each round, or weights that are no secret.

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
