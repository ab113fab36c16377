"""The sites of another Flower app at the coordinator: who has joined, with which keys, and how they are asked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from logging import WARNING

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from flower_pansvm import records
from flower_pansvm.errors import FederationError
from flower_pansvm.printable import is_printable
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.keys import KEY_BYTES
from flower_pansvm.secure_sum.wire import keys_digest
from flower_pansvm.site_names import MOST_NAME
from flower_pansvm.summing import (
    MOST_PUBLISHED_BYTES,
    SIGNATURE_BYTES,
    AllKeys,
    Payload,
    PublicKeys,
    RelayStep,
    as_bytes,
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
from strategies.log import log


@dataclass(frozen=True)
class Joined:
    """A site that has joined the run."""

    name: str
    min_sites: int  # fewest sites in a sum that it takes part in
    keys: PublicKeys


class MeanSites:
    """All sites that have joined a run so far, by node.

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

    def join(self, grid: Grid, nodes: Iterable[int], timeout: float) -> None:
        """Have nodes that are new make their keys; those that do not answer are asked again when they are next chosen.

        Raises
        ------
        PanSVMError
            If one refuses, such as for another bound, or says of itself what cannot be.
        """
        content = RecordDict()
        records.put(content, PROTOCOL, self.config)
        records.write(content, MEAN, self.terms)
        new = {node: content for node in nodes if node not in self.joined}
        names = {site.name for site in self.joined.values()}
        for node, reply in self.ask(grid, new, JOIN, timeout).items():
            site = _read_joined(reply, f"Node {node}")
            if site.name in names:
                raise FederationError(
                    f"Two nodes are called '{site.name}', or one was started again in the run. Give each a name of its "
                    "own in its node config, and start a new run."
                )
            names.add(site.name)
            self.joined[node] = site
        for node in new:
            if node not in self.joined:
                log(WARNING, "node %d does not answer, and is left out of this round", node)

    def ask(
        self, grid: Grid, contents: Mapping[int, RecordDict], action: str, timeout: float
    ) -> dict[int, RecordDict]:
        """Send a query to each of some nodes and return the answers that come in time, by node."""
        if not contents:
            return {}
        messages = [Message(content, node, f"query.{action}") for node, content in contents.items()]
        names = {node: site.name for node, site in self.joined.items()}
        replies = exchange(grid, messages, timeout, self.costs, names)
        return {node: reply.content for node, reply in replies.items()}

    def relay(
        self, grid: Grid, this: SumRound, step: int, payloads: Mapping[str, bytes], timeout: float
    ) -> dict[str, bytes]:
        """Take a relay step with some sites and return the answers that come in time, by name."""
        nodes = {site.name: node for node, site in self.joined.items()}
        contents = {}
        for name, payload in payloads.items():
            content = contents[nodes[name]] = RecordDict()
            records.write(content, SUM, MeanSum(this.round_trip))
            records.write(content, STEP, RelayStep(step, payload))
        return {
            self.joined[node].name: records.read(reply, SUM, Payload, f"Node {node}").payload.tobytes()
            for node, reply in self.ask(grid, contents, STEP, timeout).items()
        }

    def sum_of(self, run: str, task: str, number: int, nodes: Iterable[int]) -> tuple[SumRound, RecordDict]:
        """Return a sum over some nodes, and the groups of a message that ask for it."""
        sites = {site.name: site.keys for site in sorted(map(self.joined.__getitem__, nodes), key=_name)}
        groups = RecordDict()
        records.write(groups, SUM, MeanSum(number))
        records.write(groups, ALL_KEYS, AllKeys.of(sites))
        return SumRound(run, task, number, 0, tuple(sites), keys_digest(as_bytes(sites))), groups


def _name(site: Joined) -> str:
    return site.name


def _read_joined(reply: RecordDict, sender: str) -> Joined:
    """Return what a site says when it joins, after a check that it can be."""
    keys, terms = records.read(reply, KEYS, PublicKeys, sender), records.read(reply, SITE, SiteTerms, sender)
    sizes = (
        len(keys.public_key) == KEY_BYTES and len(keys.published) <= MOST_PUBLISHED_BYTES and not keys.epochs
    )
    if not (
        sizes
        and len(keys.signature) in SIGNATURE_BYTES
        and 0 < len(terms.name) <= MOST_NAME
        and is_printable(terms.name)
    ):
        raise FederationError(
            f"{sender} sent invalid keys or an invalid name: at most {MOST_NAME} printable characters. Does it run the "
            "same version of flower-pansvm?"
        )
    return Joined(terms.name, terms.min_sites, keys)
