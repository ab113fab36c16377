"""A ClientApp whose answers leave in the sum of all sites only: the mod that makes it so, and the app that has it.

Answers of the app's handlers for Flower's types *train* and *evaluate* are masked. Its other mods run inside: they clip
or perturb an answer before it is masked. Answers of its *query* handlers leave as they are.
"""

import traceback
from collections.abc import Sequence
from typing import cast

import numpy as np
from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.clientapp.typing import ClientAppCallable, Mod

from clients.secagg.membership import RunMember
from flower_pansvm import records
from flower_pansvm.constraints import read, whole
from flower_pansvm.errors import PanSVMError, SettingError, SumError
from flower_pansvm.log import logger
from flower_pansvm.printable import printable
from flower_pansvm.records import Octets
from flower_pansvm.secure_sum import protocol_of
from flower_pansvm.secure_sum.refusals import admit_opening
from flower_pansvm.summing import AllKeys, Payload, RelayStep
from flower_pansvm.terms import Scalar, Terms
from flower_pansvm.weighted_mean import (
    ALL_KEYS,
    GROUP,
    JOIN,
    KEYS,
    MEAN,
    PROTOCOL,
    SITE,
    STEP,
    SUM,
    MeanSum,
    MeanTerms,
    SiteParts,
    SiteTerms,
    check_bound,
    digest_of,
    encode_reply,
    read_reply,
    write_parts,
)

LEAST_SITES = 3
"""In a sum of two, each site learns the other's vector by subtracting its own."""


def secure_client_app(
    *,
    bound: float,
    min_sites: int = LEAST_SITES,
    min_difference: int = 1,
    most_examples: float = MeanTerms.most_examples,
    weighted_by: str = MeanTerms.weighted_by,
    protocols: str | Sequence[str] = (),
    mods: Sequence[Mod] = (),
) -> ClientApp:
    """Return a ClientApp whose replies to *train* and *evaluate* leave in secure sums.

    Its handlers are registered as in any app, with ``@app.train()`` and ``@app.evaluate()``. A node config may hold
    ``name``; ``identity`` and ``roster``, the files by which sites know each other's keys
    (:mod:`flower_pansvm.secure_sum.identities`): without them, the coordinator could hand out keys of its own;
    ``min-sites``, to require more; and ``state``, the absolute path of a folder for the numbers of answered sums.

    Parameters
    ----------
    bound : float
        Largest absolute value that a number in an array may have at one site, as in `SecureAggregation`.
    min_sites : int
        Fewest sites in a sum that this one takes part in, itself included.
    min_difference : int
        Fewest sites of which the coordinator may compute the sum from several sums of a run. With 1, it may sum over
        all sites in one round and over all but one in the next, and subtract, or claim that a site has dropped out.
        With a larger number, which all sites should have, the site takes part only in sums over the sites of its first
        one in the run. So it refuses rounds over sampled or further sites, or without one that is gone, with every
        protocol. After an error in place of an answer it takes part in no further sum of the run.
    most_examples : float
        Largest weight of a site, as in `SecureAggregation`.
    weighted_by : str
        The metric that is the weight.
    protocols : str or sequence of str
        The secure sums that the site takes part in. By default all that no coordinator breaks alone.
    mods : sequence
        Flower mods, which run inside the mask.

    Returns
    -------
    ClientApp
        An app without handlers of the app's own; SettingError if a number is invalid or there is no such secure sum.

    Examples
    --------
    >>> app = secure_client_app(bound=16.0, min_sites=5)
    >>> @app.train()
    ... def train(message, context): ...
    """
    sums = SiteSums(
        MeanTerms(bound, most_examples, weighted_by),
        read("min_sites", min_sites, whole(2)),
        read("min_difference", min_difference, whole(1)),
        frozenset([protocols] if isinstance(protocols, str) else protocols),
    )
    for name in sums.protocols:
        protocol_of(Terms(aggregation=name))
    app = _SecureApp(mods=[sums, *mods])
    for action in (JOIN, STEP):
        # Flower asks no mod about a type without a handler. The mod answers, and these are never called.
        app.query(action)(lambda message, _: message)
    return app


class _SecureApp(ClientApp):
    """The app: Flower runs its lifespan function around the mods, and would send the text of what that raises."""

    def __call__(self, message: Message, context: Context) -> Message:
        """Answer a message."""
        try:
            return super().__call__(message, context)
        except (Exception, SystemExit) as error:  # anybody's lifespan function
            where = f"outside of its handlers: in its lifespan, or it has none for '{message.metadata.message_type}'"
            return _log_failure(RunMember(context), message, error, f", {where}")


class SiteSums:
    """The mod: it joins runs, masks replies and takes relay steps. Only this project's error texts leave."""

    def __init__(
        self, terms: MeanTerms, min_sites: int, min_difference: int, protocols: frozenset[str]
    ) -> None:
        self.terms, self.min_sites, self.min_difference = terms, min_sites, min_difference
        self.protocols = protocols

    def __call__(self, message: Message, context: Context, call_next: ClientAppCallable) -> Message:
        """Answer a message; one outside secure sums is refused, unless it is a query of the app's own."""
        category, _, action = message.metadata.message_type.partition(".")
        member = RunMember(context)
        try:
            if (category, action) == ("query", JOIN):
                return Message(self._join(member, message.content), reply_to=message)
            if (category, action) == ("query", STEP):
                return Message(self._step(member, message.content), reply_to=message)
            if category == "query":
                return _app_answers(message, context, call_next)
            return self._answer(member, message, call_next)
        except PanSVMError as error:
            logger.error("%s", printable(error.with_detail()))
            text = str(error) if f"'{member.name}'" in str(error) else f"Site '{member.name}': {error}"
            return Message(Error(error.code, printable(text)), reply_to=message)
        except (Exception, SystemExit) as error:  # anybody's handler
            return _log_failure(member, message, error)

    def _join(self, member: RunMember, content: RecordDict) -> RecordDict:
        """Check the coordinator's terms, and make the site's keys of a run."""
        config = cast("dict[str, Scalar]", records.get(content, PROTOCOL))
        request, protocol = records.read(content, MEAN, MeanTerms), protocol_of(Terms.from_config(config))
        for name, value in vars(self.terms).items():
            if getattr(request, name) != value:
                raise SettingError(
                    f"Site '{member.name}' has {name}={value}, and SecureAggregation {getattr(request, name)}. Give "
                    "both the same value (of weighted_by, as weighted_by_key of the strategy in SecureAggregation)."
                )
        trusted = protocol.protected and not protocol.by_consent
        if not (protocol.name in self.protocols or (trusted and not self.protocols)):
            raise SumError(
                f"Site '{member.name}' does not take part in the secure sum '{protocol.name}'. Choose another, or name "
                "it in secure_client_app(protocols=…) if the site agrees."
            )
        reply = RecordDict()
        records.write(reply, KEYS, member.join(config, protocol))
        records.write(reply, SITE, SiteTerms(member.name, self._least(member)))
        return reply

    def _answer(self, member: RunMember, message: Message, call_next: ClientAppCallable) -> Message:
        """Have the app answer, and return its answer under the masks."""
        content, kind = message.content, message.metadata.message_type
        if not records.has(content, SUM):
            raise SumError(
                f"Site '{member.name}' answers only within secure sums, and this request is outside of one. Use "
                "SecureAggregation in the ServerApp."
            )
        request, keys = records.read(content, SUM, MeanSum), records.read(content, ALL_KEYS, AllKeys)
        public = keys.by_site()
        message.content = RecordDict(
            {name: record for name, record in content.items() if not name.startswith(GROUP)}
        )
        protocol, task = member.protocol(), digest_of(kind, message.content)
        sum_round, run_member = member.sum_of(public, request.number, task)
        memory = member.admitted(sum_round, public, self._least(member))
        check_bound(message.content, self.terms)
        member.count_up(sum_round, 0, self.min_difference)
        reply = _app_answers(message, member.context, call_next)
        if reply.has_error():
            logger.error("the app answers with an error: %s", printable(reply.error.reason or ""))
            return _failure_reply(member, message, "an error reply")
        update = read_reply(reply.content, self.terms)
        vector = encode_reply(update, self.terms, len(sum_round.roster))
        payload, step_state = protocol.contribute(vector, sum_round, run_member)
        member.remember(memory, step_state, task, keys)
        member.answered(self.min_difference)
        answer = RecordDict()
        records.write(answer, SUM, SiteParts(write_parts(update.parts), _octets(payload)))
        return Message(answer, reply_to=message)

    def _step(self, member: RunMember, content: RecordDict) -> RecordDict:
        """Take a relay step of the last sum."""
        request, step = records.read(content, SUM, MeanSum), records.read(content, STEP, RelayStep)
        protocol, (memory, step_state) = member.protocol(), member.memory()
        sum_round, run_member = member.last_sum(request.number)
        if protocol.survives:
            over = protocol.opened_over(step.payload, sum_round)
            memory = admit_opening(memory, sum_round, member.name, over)
            member.check_opening(over, sum_round, self.min_difference)
        member.count_up(sum_round, step.step, self.min_difference)
        answer, step_state = protocol.respond(step.step, step.payload, step_state, sum_round, run_member)
        member.remember(memory, step_state)
        reply = RecordDict()
        records.write(reply, SUM, Payload(_octets(answer)))
        return reply

    def _least(self, member: RunMember) -> int:
        """Return the fewest sites in a sum: of the app, or more if the node config asks for more."""
        minimum = read("min-sites", member.context.node_config.get("min-sites", 0), whole(0))
        return max(self.min_sites, int(minimum))


def _app_answers(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Have the app answer; a handler that clears or replaces the state leaves the site's keys of the run in it."""
    ours = {name: record for name, record in context.state.items() if name.startswith(GROUP)}
    try:
        reply = call_next(message, context)
    finally:
        context.state.update(ours)
    if not isinstance(reply, Message):
        raise PanSVMError(
            f"The app's handler for '{message.metadata.message_type}', or a mod, returns {type(reply).__name__} and "
            "no Message. End it with: return Message(content, reply_to=message)."
        )
    return reply


def _log_failure(member: RunMember, message: Message, error: BaseException, where: str = "") -> Message:
    """Log the places of an error of the app's, and return the reply about it."""
    # Its text could hold data, and the last line of a traceback has it.
    places = "".join(traceback.format_tb(error.__traceback__))
    logger.error("The app failed with %s at:\n%s", type(error).__name__, places)
    return _failure_reply(member, message, f"{type(error).__name__}{where}")


def _failure_reply(member: RunMember, message: Message, kind: str) -> Message:
    """Return the reply about a failure of the app, without the app's own text."""
    reason = (
        f"The app failed at site '{member.name}' with {kind}. The site's own log says where; it is not sent because it "
        "could hold data."
    )
    return Message(Error(PanSVMError.code, printable(reason)), reply_to=message)


def _octets(payload: bytes) -> Octets:
    return np.frombuffer(payload, dtype=np.uint8)
