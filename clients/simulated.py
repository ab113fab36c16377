"""Whether a site is simulated, and so a researcher's and no hospital's: only then are its rows nobody's to protect.

What the node config says does not decide. Flower's guides have people write its two keys for real SuperNodes, too; so a
simulation must have started the process besides, which nothing that a coordinator sends can bring about.
"""

import sys
from typing import Any

from flwr.app import Context

SIMULATED = ("partition-id", "num-partitions")
"""What the node config of a simulated site holds, and nothing else."""


class SimulatedContext(Context):
    """The context of a site that this process simulates; of what arrives at a SuperNode Flower makes a plain one."""


def is_simulated(context: Context) -> bool:
    """Tell whether a site is simulated: in this process, or by Flower's simulation engine."""
    simulating = isinstance(context, SimulatedContext) or _in_flowers_engine()
    return simulating and context.node_config.keys() == set(SIMULATED)


def _in_flowers_engine() -> bool:
    """Tell whether this process is a worker of Flower's simulation engine: an actor of Ray.

    A SuperNode answers each message in a process that it starts itself. That is no actor, even where Ray is installed
    or the SuperNode runs on a cluster of Ray; and nothing there loads Flower's actors.
    """
    ray: Any = sys.modules.get("ray")
    if ray is None or "flwr.simulation.ray_transport.ray_actor" not in sys.modules:
        return False
    # Without the first question, the second one would start Ray.
    return bool(ray.is_initialized()) and ray.get_runtime_context().get_actor_id() is not None
