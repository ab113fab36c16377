"""The sites of another Flower app at the coordinator: their names, keys, and the queries to them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from flower_pansvm import records
from flower_pansvm.errors import FederationError
from flower_pansvm.log import logger
from flower_pansvm.printable import is_printable
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.keys import KEY_BYTES
from flower_pansvm.site_names import MOST_NAME
from flower_pansvm.summing import (
    AllKeys,
    Payload,
    PublicKeys,
    RelayStep,
    as_bytes,
    keys_digest,
)
from flower_pansvm.terms import Scalar
from flower_pansvm.weighted_mean import (
    ALL_KEYS,
    JOIN,
    KEYS,
    MEAN,
    PROTOCOL,
    SITE,
    STEP,
    SUM,
    MeanSum,
    MeanTerms,
    SiteTerms,
)
from strategies.federation.exchange import Costs, exchange
from strategies.federation.messages import MOST_PUBLISHED_BYTES, SIGNATURE_BYTES


@dataclass(frozen=True)
class Joined:
    """A site that has joined the run."""

    name: str
    min_sites: int  # fewest sites in a sum that it takes part in
    keys: PublicKeys


class MeanSites:
    """The sites that have joined a run, by node.

    Parameters
    ----------
    config : mapping
        Protocol and options, as in a run config.
    terms : MeanTerms
        Bounds and weight.
    """

    def __init__(self, config: Mapping[str, Scalar], terms: MeanTerms) -> None:
        self.config, self.terms = config, terms
        self.joined: dict[int, Joined] = {}
        self.costs = Costs()

    def join(self, grid: Grid, nodes: Iterable[int], timeout: float, late: bool = False) -> None:
        """Have new nodes make their keys; a node that does not answer is asked again when it is next chosen.

        Raises
        ------
        PanSVMError
            If a node refuses, for example because of another bound, or its reply is invalid. A ``late`` node, new to a
            run that has had a mean, is left out instead.
        """
        content = RecordDict()
        records.put(content, PROTOCOL, self.config)
        records.write(content, MEAN, self.terms)
        new = {node: content for node in nodes if node not in self.joined}
        names = {site.name for site in self.joined.values()}
        for node, reply in self.ask(grid, new, JOIN, timeout, needed=0 if late else None).items():
            try:
                site = _read_joined(reply, f"Node {node}", names)
            except FederationError as error:
                if not late:
                    raise
                logger.warning("%s", error)
                continue
            names.add(site.name)
            self.joined[node] = site
        for node in new:
            if node not in self.joined:
                logger.warning("node %d has not joined, and is left out of this round", node)

    def ask(
        self,
        grid: Grid,
        contents: Mapping[int, RecordDict],
        action: str,
        timeout: float,
        needed: int | None = None,
    ) -> dict[int, RecordDict]:
        """Send a query to each node and return the replies that come in time, by node; errors as in `exchange`."""
        if not contents:
            return {}
        messages = [Message(content, node, f"query.{action}") for node, content in contents.items()]
        names = {node: site.name for node, site in self.joined.items()}
        replies = exchange(grid, messages, timeout, self.costs, names, needed)
        return {node: reply.content for node, reply in replies.items()}

    def relay(
        self,
        grid: Grid,
        sum_round: SumRound,
        step: int,
        payloads: Mapping[str, bytes],
        timeout: float,
        needed: int | None = None,
    ) -> dict[str, bytes]:
        """Take a relay step with some sites and return the replies that come in time, by name; errors as in `ask`."""
        nodes = {site.name: node for node, site in self.joined.items()}
        contents = {}
        for name, payload in payloads.items():
            content = contents[nodes[name]] = RecordDict()
            records.write(content, SUM, MeanSum(sum_round.round_trip))
            records.write(content, STEP, RelayStep(step, payload))
        return {
            self.joined[node].name: records.read(reply, SUM, Payload, f"Node {node}").payload.tobytes()
            for node, reply in self.ask(grid, contents, STEP, timeout, needed).items()
        }

    def sum_of(
        self, run: str, task: str, round_trip: int, nodes: Iterable[int]
    ) -> tuple[SumRound, RecordDict]:
        """Return a sum over some nodes, and the records of a message that request it."""
        joined = sorted((self.joined[node] for node in nodes), key=lambda site: site.name)
        sites = {site.name: site.keys for site in joined}
        groups = RecordDict()
        records.write(groups, SUM, MeanSum(round_trip))
        records.write(groups, ALL_KEYS, AllKeys.of(sites))
        return SumRound(run, task, round_trip, 0, tuple(sites), keys_digest(as_bytes(sites))), groups


def _read_joined(reply: RecordDict, sender: str, names: Collection[str]) -> Joined:
    """Return a site's keys, name and terms after a check; FederationError if they are invalid, or the name is taken."""
    keys, terms = records.read(reply, KEYS, PublicKeys, sender), records.read(reply, SITE, SiteTerms, sender)
    valid_keys = (
        len(keys.public_key) == KEY_BYTES
        and len(keys.published) <= MOST_PUBLISHED_BYTES
        and not keys.epochs
        and len(keys.signature) in SIGNATURE_BYTES
    )
    if not (valid_keys and 0 < len(terms.name) <= MOST_NAME and is_printable(terms.name)):
        raise FederationError(
            f"{sender} sent invalid keys or an invalid name: at most {MOST_NAME} printable characters. Check that it "
            "runs the same version of flower-pansvm."
        )
    if terms.name in names:
        raise FederationError(
            f"Two nodes have the name '{terms.name}', or one was started again in the run. Give each another name in "
            "its node config, and start a new run."
        )
    return Joined(terms.name, terms.min_sites, keys)
