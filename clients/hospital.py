"""A hospital in one run, as a message finds it: what all code below the gate is given, and no context of Flower's.

The gate makes it of the context, once a message. A simulated site stands for a hospital whose rows are nobody's.
"""

import sys
from dataclasses import dataclass, field
from typing import Any, cast

from flwr.app import Context, RecordDict

from clients.policy import SIMULATED_KEYS, SIMULATED_POLICY, HospitalPolicy, accepted_protocol, policy_of
from flower_pansvm import records
from flower_pansvm.errors import FederationError
from flower_pansvm.records import Value
from flower_pansvm.secure_sum.contract import SecureSum
from flower_pansvm.systems.common import SCHEMA
from flower_pansvm.terms import Terms

BROADCAST = "broadcast."
"""How the groups of a message and of a site's state begin that hold broadcasts, each by its name."""

DIGESTS = "broadcast digests"
"""The group of a site's state with the digest of each broadcast that it keeps, by name."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Hospital:
    """A hospital in one run, and its state of the run."""

    name: str  # its name in the run
    policy: HospitalPolicy  # its own choices
    terms: Terms  # the run's; the policy accepts them
    protocol: SecureSum  # the run's secure sum, which the policy accepts, too
    run_id: int  # the run's number
    state: RecordDict = field(repr=False)  # its memory of the run, to which steps add
    # Of a simulated site, whose rows are nobody's: its number, from 0, and of how many sites. None of a hospital.
    partition: tuple[int, int] | None = None

    @property
    def simulated(self) -> bool:
        """Whether it is a simulated site, which has no patients to protect."""
        return self.partition is not None

    @property
    def least_patients(self) -> int:
        """The fewest of its patients whose rows a landmark may be the mean of, and that a run may train on."""
        return 1 if self.simulated else self.policy.min_cluster

    @property
    def least_sites(self) -> int:
        """The fewest sites in a sum: what the run says, or more if the hospital asks for more."""
        least = max(self.terms.min_sites, self.policy.min_sites)
        # Flower may simulate fewer nodes than a run asks for.
        return min(least, self.partition[1]) if self.partition else least

    def remember_once(self, what: str, value: Value) -> Value:
        """Return the first value of something in a run, which this one becomes if there is none yet."""
        if not records.has(self.state, f"first.{what}"):
            records.put(self.state, f"first.{what}", {"value": value})
        return self.remembered(what)

    def require_same(self, what: str, value: Value, refusal: str) -> None:
        """Remember the first value of something in a run; FederationError, with the ``refusal``, for any other."""
        if self.remember_once(what, value) != value:
            raise FederationError(f"Site '{self.name}' refuses {refusal}. Start a new run.")

    def remembered(self, what: str) -> Value:
        """Return the value that :meth:`remember_once` or :meth:`require_same` has put; FederationError if none has."""
        values = records.get(self.state, f"first.{what}")
        if not values:
            raise FederationError(f"Site '{self.name}' lacks '{what}' of this run. Start the run again.")
        return cast(Value, values["value"])

    def keep_broadcasts(self, content: RecordDict) -> None:
        """Keep the broadcasts of a message for the tasks that follow; one of the same name is replaced.

        A second schema is a FederationError: sums over two splits that differ in one row would give that away.
        """
        old, new = records.get(self.state, DIGESTS), self.broadcast_digests(content)
        if SCHEMA.name in old and old[SCHEMA.name] != new[SCHEMA.name]:
            raise FederationError(
                f"Site '{self.name}' refuses a second schema: a run has one. Start a new run."
            )
        for name, values in records.groups(content, BROADCAST).items():
            records.put(self.state, BROADCAST + name, values)
        records.put(self.state, DIGESTS, new)

    def broadcast_digests(self, content: RecordDict) -> dict[str, str]:
        """Return the digest of each broadcast, kept or in a message, by name: part of a sum's name."""
        new = {name: records.digest(values) for name, values in records.groups(content, BROADCAST).items()}
        return {**records.get(self.state, DIGESTS), **new}


def hospital_of(context: Context) -> Hospital:
    """Return the hospital that a context belongs to, with its policy and the run's terms, each read and checked.

    SettingError or SumError if its node config or a term cannot work, or the policy does not accept the terms.
    """
    name, simulated = site_name(context), is_simulated(context)
    policy = SIMULATED_POLICY if simulated else policy_of(context.node_config, name)
    terms = Terms.from_config(context.run_config)
    protocol = accepted_protocol(policy, terms, name)
    partition = None
    if simulated:
        site, sites = (int(cast(int, context.node_config[key])) for key in SIMULATED_KEYS)
        partition = site, sites
    return Hospital(
        name=name,
        policy=policy,
        terms=terms,
        protocol=protocol,
        run_id=context.run_id,
        state=context.state,
        partition=partition,
    )


class SimulatedContext(Context):
    """The context of a site that this process simulates; of what arrives at a SuperNode Flower makes a plain one."""


def is_simulated(context: Context) -> bool:
    """Tell whether a site is simulated, in this process or by Flower's simulation engine, and its rows are nobody's.

    What the node config says does not decide. Flower's guides have people write its two keys for real SuperNodes, too;
    so a simulation must have started the process besides, which nothing that a coordinator sends can bring about.
    """
    simulating = isinstance(context, SimulatedContext) or _in_flowers_engine()
    return simulating and context.node_config.keys() == set(SIMULATED_KEYS)


def _in_flowers_engine() -> bool:
    """Tell whether this process is a worker of Flower's simulation engine: an actor of Ray.

    A SuperNode is none, even where Ray is installed or on a cluster of Ray; and nothing there loads Flower's actors.
    """
    ray: Any = sys.modules.get("ray")
    if ray is None or "flwr.simulation.ray_transport.ray_actor" not in sys.modules:
        return False
    # Without the first question, the second one would start Ray.
    return bool(ray.is_initialized()) and ray.get_runtime_context().get_actor_id() is not None


def site_name(context: Context) -> str:
    """Return the name of a site: the one its node config gives it, else the number of a simulated node."""
    if "name" in context.node_config:
        return str(context.node_config["name"])
    if is_simulated(context):
        from flower_pansvm.site_names import simulated_name  # noqa: PLC0415 - hospitals have names of their own

        return simulated_name(int(cast(int, context.node_config[SIMULATED_KEYS[0]])))
    return f"node-{context.node_id}"
