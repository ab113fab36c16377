"""A strategy around any of Flower's that takes a weighted mean: the coordinator learns the mean, and no site's reply.

The inner strategy chooses nodes and contents. `SecureAggregation` adds the request for a secure sum to each message,
opens the sum, and gives the inner strategy one reply, the mean (:mod:`flower_pansvm.weighted_mean`).

A round without all replies is skipped, since the masks do not cancel; with a protocol that survives drop-outs,
``double-mask``, the sum is over the sites whose replies have come and fit. No sum is requested twice.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from flower_pansvm import records
from flower_pansvm.constraints import key_of, near_matches, setting_fields
from flower_pansvm.errors import PanSVMError, SettingError, SumError
from flower_pansvm.log import logger
from flower_pansvm.printable import printable
from flower_pansvm.secure_sum import protocol_of
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.registry import PROTOCOLS
from flower_pansvm.terms import Scalar, Terms
from flower_pansvm.weighted_mean import (
    SUM,
    MeanTerms,
    SiteParts,
    check_bound,
    decode_mean,
    digest_of,
)
from strategies.federation.exchange import by_reason
from strategies.secagg.inner import check_by_trial, check_strategy, is_flowers_own, is_wrapped, weight_key
from strategies.secagg.replies import most_alike
from strategies.secagg.sites import MeanSites

TIMEOUT = 3600.0
"""Seconds to wait for replies, as in Flower's strategies."""

REQUESTED: Counter[int] = Counter()
"""How many sums this process has requested, by run: sites answer no number twice, of whichever strategy in the run."""


class SecureAggregation(Strategy):
    """A strategy that aggregates the replies of *train* and *evaluate* in secure sums.

    Parameters
    ----------
    strategy : Strategy
        A strategy that takes the mean of the replies, weighted by the number of examples: FedAvg, FedProx, FedAvgM,
        FedAdam, FedAdagrad, FedYogi, or another.
    bound : float
        Largest absolute value of a number in an array at one site; a site refuses to send a larger one. The error of a
        mean is less than ``bound * sites * most_examples / 2**62`` divided by the mean weight.
    protocol : str
        The secure sum: ring, k-secure, double-mask, ring-hops, k-secure-hops, paillier; plain hides nothing.
    most_examples : float
        Largest weight of a site. If ``most_examples * sites`` is at most 4096, a number in an array takes four bytes
        instead of eight, with the precision in `flower_pansvm.weighted_mean.NARROW_WEIGHTS`.
    **options
        The protocol's options: ``k``, ``share_threshold``.

    Attributes
    ----------
    skipped : list of (int, str)
        Round and step, 'train' or 'evaluate', of the sums that were not opened.

    Raises
    ------
    SettingError
        If the strategy uses single replies, or a setting is invalid.

    Examples
    --------
    >>> from flwr.serverapp.strategy import FedAvg
    >>> SecureAggregation(FedAvg(), protocol="k-secure", bound=16.0).protocol.name
    'k-secure'
    """

    def __init__(
        self,
        strategy: Strategy,
        *,
        bound: float,
        protocol: str = "k-secure",
        most_examples: float = MeanTerms.most_examples,
        **options: Scalar,
    ) -> None:
        check_strategy(strategy)
        self.strategy = strategy
        weighted_by = weight_key(strategy, MeanTerms.weighted_by)
        known = [option.name for option in setting_fields(PROTOCOLS[protocol]).values()]
        for name in options.keys() - {*known}:
            raise SettingError(
                f"'{protocol}' has no option '{name}'. {near_matches(name, known) if known else ''}".strip()
            )
        config = {"aggregation": protocol, **{key_of(name): value for name, value in options.items()}}
        self.terms = MeanTerms(bound, most_examples, weighted_by)
        self.protocol = protocol_of(Terms.from_config(config))
        self.sites = MeanSites(config, self.terms)
        self.skipped: list[tuple[int, str]] = []
        self.timeout = TIMEOUT
        self._run: int | None = None  # the one that the sites have joined
        self._opened = 0  # number of its sums
        self._checked: set[str] = set()  # steps whose aggregation needs only the mean
        self._sum: tuple[Grid, SumRound] | None = None
        self._wrapped = False  # in a strategy that counts replies, and adds noise by their number

    def summary(self) -> None:
        """Log the secure sum and the inner strategy's settings."""
        logger.info("\t├──> Secure sums: %s, bound %g", self.protocol.name, self.terms.bound)
        if not self.protocol.protected:
            logger.warning(
                "NOTHING IS PROTECTED: with '%s' the coordinator sees every reply", self.protocol.name
            )
        self.strategy.summary()

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = TIMEOUT,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> Result:
        """Run the strategy as Flower does.

        Raises
        ------
        SumError
            If the initial arrays exceed the bound.
        """
        check_bound(RecordDict({"initial_arrays": initial_arrays}), self.terms)
        self.timeout = timeout
        return super().start(
            grid, initial_arrays, num_rounds, timeout, train_config, evaluate_config, evaluate_fn
        )

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return the inner strategy's messages, as requests for a secure sum."""
        return self._configure("train", server_round, arrays, config, grid)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return the inner strategy's messages, as requests for a secure sum."""
        return self._configure("evaluate", server_round, arrays, config, grid)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Return the inner strategy's result for the mean; None if the round is skipped."""
        mean = self._mean("train", server_round, replies)
        return (None, None) if mean is None else self.strategy.aggregate_train(server_round, [mean])

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Return the inner strategy's result for the mean; None if the round is skipped."""
        mean = self._mean("evaluate", server_round, replies)
        return None if mean is None else self.strategy.aggregate_evaluate(server_round, [mean])

    def _configure(
        self, step: str, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Return the inner strategy's messages for a step, as requests for a secure sum."""
        self._wrapped = is_wrapped(self)
        messages = list(getattr(self.strategy, f"configure_{step}")(server_round, arrays, config, grid))
        self._sum = None
        if not messages:
            return []
        try:
            return self._as_sum(messages, grid)
        except PanSVMError as error:
            self._skip(step, server_round, error)
            return []

    def _as_sum(self, messages: list[Message], grid: Grid) -> list[Message]:
        # Most strategies send the same content to all nodes.
        distinct = {(message.metadata.message_type, id(message.content)): message for message in messages}
        tasks = {digest_of(kind, message.content) for (kind, _), message in distinct.items()}
        chosen = [message.metadata.dst_node_id for message in messages]
        if len(tasks) > 1 or len(set(chosen)) < len(chosen):
            raise SettingError(
                f"{type(self.strategy).__name__} sends different requests to different nodes, or two to one node, "
                "whose replies have no common sum. Use a strategy that sends one message of one content to each node."
            )
        kinds = {kind for kind, _ in distinct}
        if not {kind.partition(".")[0] for kind in kinds} <= {"train", "evaluate"}:
            raise SettingError(
                f"{type(self.strategy).__name__} sends messages of type {', '.join(sorted(kinds))}, and only replies "
                "to 'train' and 'evaluate', such as 'train.mine', leave in secure sums. Have it send one of these."
            )
        run, (task,) = grid.run.run_id, tasks
        if run != self._run:
            self.sites.joined.clear()
            self._run, self._opened = run, 0
        self.sites.join(grid, chosen, self.timeout, late=self._opened > 0)
        messages = [message for message in messages if message.metadata.dst_node_id in self.sites.joined]
        nodes = [message.metadata.dst_node_id for message in messages]
        self._check_enough(nodes, len(chosen))
        REQUESTED[run] += 1
        sum_round, groups = self.sites.sum_of(str(run), task, REQUESTED[run], nodes)
        for message in messages:
            message.content = RecordDict({**message.content, **groups})
        self._sum = grid, sum_round
        return messages

    def _check_enough(self, nodes: list[int], chosen: int) -> None:
        """Raise a SumError if no chosen node has joined, or a site would refuse a sum over those that have."""
        least = max((self.sites.joined[node].min_sites for node in nodes), default=1)
        if len(nodes) < min(least, chosen):
            raise SumError(
                f"{len(nodes)} of {chosen} chosen nodes have joined within the timeout of {self.timeout:g} s, too few "
                "for a sum. The others were too slow or could not be reached, or their ClientApp failed or is not of "
                "secure_client_app: the nodes' logs say which."
            )
        for node in nodes:
            site = self.sites.joined[node]
            if len(nodes) < site.min_sites:
                raise SumError(
                    f"{len(nodes)} sites are chosen, and site '{site.name}' takes part in sums over at least "
                    f"{site.min_sites}. Raise min_train_nodes, min_evaluate_nodes and min_available_nodes (or the "
                    "fractions) of the strategy, or lower min_sites in secure_client_app. 'flwr run' simulates two "
                    f'SuperNodes unless it is told otherwise: --federation-config "num-supernodes={site.min_sites}".'
                )

    def _mean(self, step: str, server_round: int, replies: Iterable[Message]) -> Message | None:
        """Return one reply, the mean of all; None if the round is skipped."""
        if self._sum is None:
            return None
        (grid, sum_round), self._sum = self._sum, None
        names = {node: site.name for node, site in self.sites.joined.items() if site.name in sum_round.roster}
        received: dict[str, Message] = {}
        refusals: list[tuple[str, str]] = []  # and the site's name, empty if it is unknown
        failures: list[tuple[str, str]] = []
        for reply in replies:
            if reply.has_error():
                reason = printable(reply.error.reason or f"error {reply.error.code}")
                if reply.error.code > PanSVMError.code:
                    refusals.append((reason, names.get(reply.metadata.src_node_id, "")))
                elif reply.error.code == PanSVMError.code:
                    failures.append((reason, names.get(reply.metadata.src_node_id, "")))
                else:  # Flower does not reach the node
                    logger.warning("%s", reason)
            elif reply.metadata.src_node_id in names:
                received.setdefault(names[reply.metadata.src_node_id], reply)
        try:
            self._check_all_there(sum_round, list(received), refusals, failures)
            mean = self._open(grid, sum_round, received)
            if step not in self._checked and not is_flowers_own(self.strategy, step):
                weighted_by, sites = self.terms.weighted_by, len(sum_round.roster)
                check_by_trial(self.strategy, step, server_round, mean, weighted_by, sites)
            self._checked.add(step)
        except PanSVMError as error:
            self._skip(step, server_round, error)
            return None
        self._opened += 1
        return mean

    def _fewest(self, sum_round: SumRound) -> int:
        """Return how many sites have to be in a sum: as the protocol and each site require."""
        least = [site.min_sites for site in self.sites.joined.values() if site.name in sum_round.roster]
        return max(*least, self.protocol.fewest(sum_round))

    def _check_all_there(
        self,
        sum_round: SumRound,
        received: list[str],
        refusals: list[tuple[str, str]],
        failures: list[tuple[str, str]],
    ) -> None:
        """Raise a SumError if too few replies have come: a `DropoutError` if no site refused and not all apps failed.

        What fails at all sites most likely fails again. After a mean the run goes on, as Flower's does where the sites
        have no handler.
        """
        missing = [name for name in sum_round.roster if name not in received]
        if not missing:
            return
        logger.warning("no sum with %s", ", ".join(missing))
        fewest, roster = self._fewest(sum_round), len(sum_round.roster)
        if len(received) < fewest and (refusals or (len(failures) == roster and not self._opened)):
            raise SumError("\n".join(by_reason([*refusals, *failures])))
        for reason in by_reason([*refusals, *failures]):
            logger.warning("%s", reason)
        if len(received) < fewest:
            survive = "" if self.protocol.survives else " With protocol='double-mask', sites may drop out."
            raise DropoutError(
                f"{len(missing)} of {roster} sites did not answer or failed, and '{self.protocol.name}' needs "
                f"{fewest}.{survive}"
            )

    def _open(self, grid: Grid, sum_round: SumRound, received: dict[str, Message]) -> Message:
        """Return a reply with the mean of the sites' replies as its content."""
        answers = {
            name: records.read(reply.content, SUM, SiteParts, f"Site '{name}'")
            for name, reply in received.items()
        }
        parts, names, difference = most_alike(answers)
        if difference:
            text = f"Replies differ from those of most sites: {difference}."
            if self._wrapped or not self.protocol.survives or len(names) < self._fewest(sum_round):
                raise SumError(
                    f"{text} So there is no mean. Have all sites train one model, and reply with the same arrays and "
                    "metrics in one order."
                )
            # To claim that they have dropped out would give the coordinator as much.
            logger.warning("%s The sum is without them.", text)
        answers = {name: answers[name] for name in sum_round.roster if name in names}
        relay = partial(self._relay, grid, sum_round)
        words = self.protocol.total(
            {name: answer.payload.tobytes() for name, answer in answers.items()}, sum_round, relay
        )
        mean = next(iter(received.values()))
        mean.content = decode_mean(words, parts, self.terms, len(sum_round.roster), len(answers))
        return mean

    def _relay(self, grid: Grid, sum_round: SumRound, step: int, payloads: Any) -> dict[str, bytes]:
        needed = self.protocol.fewest(sum_round) if self.protocol.survives else None
        answers = self.sites.relay(grid, sum_round, step, payloads, self.timeout, needed)
        missing = [name for name in payloads if name not in answers]
        if missing and not self.protocol.survives:
            raise DropoutError(f"{', '.join(missing)} did not answer a relay step of the sum.")
        return answers

    def _skip(self, step: str, server_round: int, error: PanSVMError) -> None:
        """Skip a round and log why; an error that will recur ends the run instead, in the first round of a step.

        Else training would go on for hours, and no round of it be evaluated.
        """
        first = not self._opened or (server_round == 1 and step not in self._checked)
        if first and not isinstance(error, DropoutError):
            raise error
        self.skipped.append((server_round, step))
        logger.error("%s of round %d is skipped: %s", step, server_round, error)


class DropoutError(SumError):
    """Sites dropped out: the next round may succeed."""
