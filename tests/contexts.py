"""What Flower hands to a hospital's ClientApp, and what the gate makes of it, for tests that ask without a grid."""

from typing import Any

from flwr.app import Context, RecordDict

from clients.hospital import Hospital, hospital_of
from flower_pansvm.terms import Scalar
from strategies.settings import make_settings

SIMULATED_NODE: dict[str, Scalar] = {"partition-id": 0, "num-partitions": 3}


def context_of(
    node: dict[str, Scalar], run_id: int = 1, kind: type[Context] = Context, **settings: Any
) -> Context:
    """Return the context of a node in a run of such settings."""
    return kind(run_id, 7, {**node}, RecordDict(), make_settings(**settings).to_config())


def own_hospital(
    node: dict[str, Scalar], run_id: int = 1, kind: type[Context] = Context, **settings: Any
) -> Hospital:
    """Return the hospital of such a node, as it begins a run."""
    return hospital_of(context_of(node, run_id, kind, **settings))
