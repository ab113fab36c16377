"""Strategies and replies of which there is no mean: refused, with a reason, before training where it can be known."""

import subprocess
import sys
from collections.abc import Iterable
from threading import Lock
from typing import Any

import flwr.serverapp.strategy as flowers
import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.clientapp.mod import fixedclipping_mod
from flwr.serverapp.strategy import FedAvg, Strategy

from flower_pansvm.errors import FederationError, PanSVMError, SettingError, SumError
from flower_pansvm.secagg import SecureAggregation, secure_client_app
from flower_pansvm.weighted_mean import STEP, MeanTerms, read_parts
from simulations.engines.in_process import InProcessGrid
from strategies.secagg.inner import AROUND, SINGLE_REPLIES
from strategies.secagg.sites import MeanSites
from tests.secagg.app import (
    BOUND,
    FEATURES,
    SITES,
    Change,
    grid_of,
    run,
    secure,
    secured,
    start_arrays,
    weights,
    with_handlers,
)

ALL_NODES: dict[str, Any] = {
    "min_available_nodes": SITES,
    "min_train_nodes": SITES,
    "min_evaluate_nodes": SITES,
}


@pytest.mark.parametrize("name", SINGLE_REPLIES)
def test_a_strategy_of_flowers_that_looks_at_single_replies_is_refused_by_name(name: str) -> None:
    kind = getattr(flowers, name)
    options: dict[str, Any] = {"client_learning_rate": 0.1} if name == "QFedAvg" else {}
    if name.startswith("Differential"):
        own = {"clipping_norm": 1.0} if "Fixed" in name else {}
        options = {"strategy": FedAvg(), "noise_multiplier": 0.1, "num_sampled_clients": SITES, **own}
    with pytest.raises(SettingError, match=name):
        secure(kind(**options))
    with pytest.raises(SettingError, match=name):
        secure(type("Own", (kind,), {})(**options))


def test_every_strategy_of_flowers_is_known() -> None:
    """One that a new version of Flower brings is looked at by a person first."""
    means = {"FedAvg", "FedProx", "FedAvgM", "FedAdam", "FedAdagrad", "FedYogi"}
    kinds = {name for name in flowers.__all__ if isinstance(getattr(flowers, name), type)}
    assert kinds - {"Result", "Strategy"} == means | SINGLE_REPLIES.keys()


def test_clipping_at_the_sites_and_noise_around_the_mean() -> None:
    """Flower's wrapper works around the secure sum; its mod inside of the mask."""

    def clipped(message: Message, context: Any, call_next: Any) -> Message:
        return (
            fixedclipping_mod(message, context, call_next)
            if message.metadata.message_type == "train"
            else call_next(message, context)
        )

    found = []
    for inner in (FedAvg(**ALL_NODES), secure(FedAvg(**ALL_NODES))):
        strategy = flowers.DifferentialPrivacyClientSideFixedClipping(inner, 0.0, 0.05, SITES)
        app = secured(mods=[clipped]) if isinstance(inner, SecureAggregation) else None
        found.append(weights(run(strategy, app or grid_of(with_handlers(ClientApp(mods=[clipped]))))))
    assert np.linalg.norm(found[0]) <= 3 * 0.05 + 1e-6
    np.testing.assert_allclose(found[1], found[0], atol=2e-7)


# A strategy of one's own


class Largest(FedAvg):
    """Takes the largest of the replies' weights."""

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Any:
        contents = [reply.content["arrays"] for reply in replies]
        largest = {key: np.max([content[key].numpy() for content in contents], axis=0) for key in contents[0]}
        return ArrayRecord({key: Array(value) for key, value in largest.items()}), MetricRecord()


class Median(Largest):
    """Takes the median."""

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Any:
        contents = [reply.content["arrays"] for reply in replies]
        median = {
            key: np.median([content[key].numpy() for content in contents], axis=0) for key in contents[0]
        }
        return ArrayRecord({key: Array(np.asarray(value)) for key, value in median.items()}), MetricRecord()


class Unweighted(Largest):
    """Takes the mean of sites, large or small."""

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Any:
        contents = [reply.content["arrays"] for reply in replies]
        mean = {key: np.mean([content[key].numpy() for content in contents], axis=0) for key in contents[0]}
        return ArrayRecord({key: Array(value) for key, value in mean.items()}), MetricRecord()


class BestThree(FedAvg):
    """Takes the three replies of the smallest loss."""

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Any:
        best = sorted(replies, key=lambda reply: float(reply.content["metrics"]["loss"]))[:3]
        return super().aggregate_train(server_round, best)


class Demanding(FedAvg):
    """Fails with few replies."""

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Any:
        if len(list(replies)) < SITES:
            raise ValueError("too few")
        return super().aggregate_train(server_round, replies)


class LeavingOut(FedAvg):
    """Leaves out sites of few examples where Flower looks at the replies, before it aggregates them."""

    def _check_and_log_replies(
        self, replies: Iterable[Message], is_train: bool, validate: bool = True
    ) -> Any:
        valid, errors = super()._check_and_log_replies(replies, is_train, validate)
        return [reply for reply in valid if reply.content["metrics"]["num-examples"] >= 40], errors


class Largeness(FedAvg):
    """Takes the largest of the weights, beside a metric that is far larger."""

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Any:
        arrays, _ = Largest().aggregate_train(server_round, replies)
        return arrays, MetricRecord({"seconds": 1e9})


def with_a_function(kind: type[FedAvg]) -> FedAvg:
    """Return Flower's strategy with a function that aggregates in place of its method."""
    strategy, other = FedAvg(**ALL_NODES), kind(**ALL_NODES)
    strategy.aggregate_train = other.aggregate_train  # type: ignore[method-assign]
    return strategy


class HalfWay(FedAvg):
    """Takes a step half as long: a strategy of one's own that takes the weighted mean."""

    def configure_train(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Any) -> Any:
        self.arrays = arrays
        return super().configure_train(server_round, arrays, config, grid)

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Any:
        mean, metrics = super().aggregate_train(server_round, replies)
        assert mean is not None
        half = {key: Array((mean[key].numpy() + self.arrays[key].numpy()) / 2) for key in mean}
        return ArrayRecord(half), metrics


def worst(contents: list[RecordDict], weighted_by: str) -> MetricRecord:
    """Return the largest loss of any site."""
    return MetricRecord({"loss": max(float(content["metrics"]["loss"]) for content in contents)})


@pytest.mark.parametrize(
    "strategy",
    [
        *(kind(**ALL_NODES) for kind in (Largest, Median, Unweighted, Demanding, LeavingOut, Largeness)),
        with_a_function(Largest),
        FedAvg(**ALL_NODES, train_metrics_aggr_fn=worst),
    ],
    ids=lambda strategy: type(strategy).__name__,
)
def test_ones_own_strategy_that_looks_at_single_replies_is_found_out(strategy: Strategy) -> None:
    with pytest.raises(SettingError):
        run(secure(strategy), secured())


def count(contents: list[RecordDict], weighted_by: str) -> MetricRecord:
    """Return the number of replies."""
    return MetricRecord({"sites": len(contents)})


def evaluated(what: str) -> InProcessGrid:
    """Return a grid whose replies to *evaluate* are changed: no weight, no handler that succeeds, or as they are."""

    def change(message: Message, context: Any, call_next: Any) -> Message:
        reply = call_next(message, context)
        if message.metadata.message_type == "evaluate":
            if what == "failing":
                raise KeyError(what)
            reply.content["metrics"].pop("num-examples" if what == "weight" else "", None)
        return reply

    return secured(mods=[change])


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"evaluate_metrics_aggr_fn": count}, ""),
        ({"min_evaluate_nodes": 2, "fraction_evaluate": 0.4}, ""),
        ({}, "weight"),
    ],
    ids=["a function that counts replies", "too few evaluate", "no weight"],
)
def test_an_evaluation_that_can_never_succeed_ends_the_first_round(
    options: dict[str, Any], what: str
) -> None:
    """Not after hours of training, with no metric of any round."""
    grid = evaluated(what)
    with pytest.raises(PanSVMError):
        run(secure(FedAvg(**{**ALL_NODES, **options})), grid)
    trained = [reply for reply in grid.replies if reply.metadata.message_type == "train"]
    assert len(trained) == SITES


def test_an_app_whose_evaluation_fails_goes_on_as_in_flower() -> None:
    """One without a handler for it, for instance."""
    strategy = secure(FedAvg(**ALL_NODES))
    assert sorted(run(strategy, evaluated("failing")).train_metrics_clientapp) == [1, 2, 3]
    assert strategy.skipped == [(number, "evaluate") for number in (1, 2, 3)]


@pytest.mark.parametrize("sites", [4, 5, 6, 9])
def test_a_choice_of_replies_is_found_out_whatever_the_number_of_sites(sites: int) -> None:
    with pytest.raises(SettingError, match="BestThree"):
        run(secure(BestThree(min_train_nodes=sites)), secured(sites=sites), rounds=1)


@pytest.mark.parametrize(
    "kind", [name for name in SINGLE_REPLIES if name.startswith("Differential") and name != AROUND]
)
def test_a_wrapper_around_the_secure_sum_that_looks_at_replies_is_refused_before_training(kind: str) -> None:
    options = {"clipping_norm": 1.0} if "Fixed" in kind else {}
    grid, inner = secured(), secure(FedAvg(**ALL_NODES))
    wrapper = getattr(flowers, kind)(inner, 0.1, num_sampled_clients=SITES, **options)
    # Around the one that works there, too.
    outer = flowers.DifferentialPrivacyClientSideFixedClipping(wrapper, 0.1, 1.0, SITES)
    for strategy in (wrapper, outer):
        with pytest.raises(SettingError, match=kind):
            run(strategy, grid)
    assert grid.replies == []


def test_ones_own_strategy_that_takes_the_mean_gives_what_it_gives_in_flower() -> None:
    ours = run(secure(HalfWay(**ALL_NODES)), secured())
    own = run(HalfWay(**ALL_NODES), grid_of(with_handlers(ClientApp())))
    np.testing.assert_allclose(weights(ours), weights(own), atol=2e-7)


class Around(Strategy):
    """Wraps another one, as anybody would write it."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy

    def summary(self) -> None:
        self.strategy.summary()

    def configure_train(self, *given: Any) -> Iterable[Message]:
        return self.strategy.configure_train(*given)

    def configure_evaluate(self, *given: Any) -> Iterable[Message]:
        return self.strategy.configure_evaluate(*given)

    def aggregate_train(self, *given: Any) -> Any:
        return self.strategy.aggregate_train(*given)

    def aggregate_evaluate(self, *given: Any) -> Any:
        return self.strategy.aggregate_evaluate(*given)


def test_a_wrapped_strategy_keeps_its_weight_and_is_refused_by_name() -> None:
    def by_rows(reply: RecordDict, site: int, server_round: int) -> None:
        reply["metrics"]["rows"] = 50 - 7 * site

    def around() -> Strategy:
        return Around(FedAvg(**ALL_NODES, fraction_evaluate=0.0, weighted_by_key="rows"))

    ours = run(secure(around()), secured(by_rows, weighted_by="rows"))
    own = run(around(), grid_of(with_handlers(ClientApp(), by_rows)))
    np.testing.assert_allclose(weights(ours), weights(own), atol=2e-7)
    with pytest.raises(SettingError, match="FedMedian takes the median"):
        secure(Around(Around(flowers.FedMedian())))


class OwnAdam(flowers.FedAdam):
    """Flower's by another name, which divides by small numbers."""


class WholeWeights(FedAvg):
    """Reads the weights as the whole numbers that they are."""

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Any:
        contents = [reply.content for reply in replies]
        examples = [int(content["metrics"]["num-examples"]) for content in contents]
        mean = {
            key: np.average(
                [content["arrays"][key].numpy() for content in contents], axis=0, weights=examples
            )
            for key in contents[0]["arrays"]
        }
        return ArrayRecord({key: Array(value) for key, value in mean.items()}), MetricRecord()


@pytest.mark.parametrize("inner", [OwnAdam(**ALL_NODES, tau=1e-8), WholeWeights(**ALL_NODES)])
@pytest.mark.parametrize("examples", [1, 10])
def test_rounding_is_not_taken_for_a_look_at_single_replies(inner: FedAvg, examples: int) -> None:
    """Of weights that no site's training changes, Adam divides rounding by rounding."""

    def frozen(reply: RecordDict, site: int, server_round: int) -> None:
        arrays = {**reply["arrays"], "frozen": Array(np.linspace(0, 0.7, 9, dtype=np.float32))}
        reply["arrays"] = ArrayRecord(arrays)
        reply["metrics"]["num-examples"] = examples

    start = ArrayRecord({**start_arrays(), "frozen": Array(np.linspace(0, 0.7, 9, dtype=np.float32))})
    strategy = secure(inner)
    strategy.start(secured(frozen), start, num_rounds=1)
    assert strategy.skipped == []


class Renamed(FedAvg):
    """Flower's by another name."""


def test_ones_own_strategy_may_have_a_mean_of_zero() -> None:
    def zero(reply: RecordDict, site: int, server_round: int) -> RecordDict:
        arrays = ArrayRecord({"zero": Array(np.zeros(3))})
        return RecordDict({"arrays": arrays, "metrics": MetricRecord({"num-examples": 20})})

    strategy = secure(Renamed(**ALL_NODES, fraction_evaluate=0.0))
    assert not run(strategy, secured(zero), rounds=1).arrays["zero"].numpy().any()
    assert strategy.skipped == []


@pytest.mark.parametrize("protocols", ["rings", ["ring", "k-secured"]])
def test_a_secure_sum_that_does_not_exist_is_refused_at_once(protocols: Any) -> None:
    with pytest.raises(SettingError):
        secure_client_app(bound=1.0, protocols=protocols)
    secure_client_app(bound=1.0, protocols="ring")


@pytest.mark.parametrize("strategy", [FedAvg, None, object()], ids=["a class", "nothing", "an object"])
def test_what_is_no_strategy_is_refused_at_once(strategy: Any) -> None:
    with pytest.raises(SettingError):
        secure(strategy)


class Starting(FedAvg):
    """Does something before its rounds."""

    def start(self, *given: Any, **named: Any) -> Any:
        return super().start(*given, **named)


def test_a_strategy_that_runs_its_rounds_itself_is_refused_at_once() -> None:
    with pytest.raises(SettingError, match="Starting"):
        secure(Starting(**ALL_NODES))
    strategy = FedAvg(**ALL_NODES)
    strategy.start = Starting(**ALL_NODES).start  # type: ignore[method-assign]
    with pytest.raises(SettingError, match="'start'"):
        secure(strategy)
    with pytest.raises(SettingError, match="SecureAggregation"):
        secure(secure(FedAvg(**ALL_NODES)))


class Locked(HalfWay):
    """Takes the mean, and has a lock, of which there can be no copy."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.lock = Lock()


def test_a_strategy_that_cannot_be_copied_is_refused_for_that() -> None:
    with pytest.raises(SettingError, match=r"Locked cannot be copied .*Keep locks"):
        run(secure(Locked(**ALL_NODES)), secured())


def test_too_few_nodes_in_flowers_simulation_are_told_with_the_option_for_more() -> None:
    with pytest.raises(SumError, match='--federation-config "num-supernodes=3"'):
        run(secure(FedAvg()), secured(sites=2))


@pytest.mark.parametrize("plain", [range(SITES), [2, 3, 4]], ids=len)
def test_nodes_whose_app_has_no_secure_sums_are_told(plain: Iterable[int]) -> None:
    """The first mistake: only the ServerApp was changed."""
    grid, apps = secured(), [with_handlers(ClientApp()), secured().app]
    grid.app = lambda message, context: apps[context.node_config["partition-id"] not in plain](  # type: ignore
        message, context
    )
    with pytest.raises(SumError, match=f"{SITES - len(list(plain))} of 5 chosen .* not of secure_client_app"):
        run(secure(FedAvg(**ALL_NODES)), grid)


class Asking(FedAvg):
    """Trains by a query, whose answers are masked by nothing."""

    def configure_train(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Any) -> Any:
        messages = super().configure_train(server_round, arrays, config, grid)
        return [Message(message.content, message.metadata.dst_node_id, "query.fit") for message in messages]


def test_a_strategy_that_trains_by_queries_is_refused_before_anything_is_sent() -> None:
    grid = secured()
    with pytest.raises(SettingError, match=r"Asking sends messages of type query\.fit"):
        run(secure(Asking(**ALL_NODES)), grid)
    assert not grid.replies


class Personal(FedAvg):
    """Asks each node something else."""

    def configure_train(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Any) -> Any:
        messages = list(super().configure_train(server_round, arrays, config, grid))
        for number, message in enumerate(messages):
            message.content = RecordDict({**message.content, "own": ConfigRecord({"number": number})})
        return messages


class Twice(FedAvg):
    """Asks a node twice: Flower counts both of its replies."""

    def configure_train(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Any) -> Any:
        messages = list(super().configure_train(server_round, arrays, config, grid))
        first = messages[0]
        return [
            Message(first.content, first.metadata.dst_node_id, first.metadata.message_type),
            *messages,
        ]


@pytest.mark.parametrize("kind", [Personal, Twice])
def test_different_requests_have_no_sum(kind: type[FedAvg]) -> None:
    grid = secured()
    with pytest.raises(SettingError):
        run(secure(kind(**ALL_NODES)), grid)
    assert not grid.replies


# Replies


def other_shape(reply: RecordDict, site: int, server_round: int) -> None:
    if site == 1:
        reply["arrays"]["w"] = Array(np.zeros(FEATURES + 1, np.float32))


def other_name(reply: RecordDict, site: int, server_round: int) -> None:
    if site == 1:
        reply["metrics"]["error"] = 1.0


def not_a_number(reply: RecordDict, site: int, server_round: int) -> None:
    if site == 1:
        reply["arrays"]["b"] = Array(np.array([np.nan], np.float32))


def infinite_metric(reply: RecordDict, site: int, server_round: int) -> None:
    if site == 1:
        reply["metrics"]["loss"] = float("inf")


def huge_metric(reply: RecordDict, site: int, server_round: int) -> None:
    if site == 1:
        reply["metrics"]["loss"] = 2.0**119


def above_the_bound(reply: RecordDict, site: int, server_round: int) -> None:
    if site == 1:
        reply["arrays"]["b"] = Array(np.array([16.5], np.float32))


def no_weight(reply: RecordDict, site: int, server_round: int) -> None:
    del reply["metrics"]["num-examples"]


def negative_weight(reply: RecordDict, site: int, server_round: int) -> None:
    reply["metrics"]["num-examples"] = -1


def nan_weight(reply: RecordDict, site: int, server_round: int) -> None:
    reply["metrics"]["num-examples"] = float("nan")


def text(reply: RecordDict, site: int, server_round: int) -> None:
    reply["arrays"]["names"] = Array(np.array(["a"]))


def config(reply: RecordDict, site: int, server_round: int) -> None:
    reply["more"] = ConfigRecord({"secret": "patient 4711"})


def two_weights(reply: RecordDict, site: int, server_round: int) -> None:
    reply["more"] = MetricRecord({"auc": 0.5, "num-examples": 3 + site})


def all_weights_zero(reply: RecordDict, site: int, server_round: int) -> None:
    reply["metrics"]["num-examples"] = 0


BROKEN = (
    other_shape,
    other_name,
    not_a_number,
    infinite_metric,
    huge_metric,
    above_the_bound,
    no_weight,
    negative_weight,
    nan_weight,
    text,
    config,
    two_weights,
    all_weights_zero,
)


@pytest.mark.parametrize("change", BROKEN, ids=lambda change: change.__name__)
def test_a_reply_without_a_mean_is_refused_with_a_reason(change: Change) -> None:
    grid = secured(change)
    with pytest.raises(SumError) as caught:
        run(secure(FedAvg(**ALL_NODES, fraction_evaluate=0.0)), grid)
    assert "4711" not in str(caught.value)
    if change in (infinite_metric, huge_metric):
        assert "metric" in str(caught.value)
    if change in (other_shape, not_a_number, above_the_bound):
        # Which array, and which site; and no value.
        assert "node-00000000000000000003" in str(caught.value)
        assert ("'w'" if change is other_shape else "'b'") in str(caught.value)
        assert "16.5" not in str(caught.value)


@pytest.mark.parametrize(
    "change", [other_shape, other_name, not_a_number], ids=lambda change: change.__name__
)
def test_double_masks_leave_out_a_site_whose_reply_does_not_fit(change: Change) -> None:
    """As Flower does with a site that fails, and no site opens the sum twice."""

    def failing(reply: RecordDict, site: int, server_round: int) -> None:
        if site == 1:
            raise RuntimeError("in place of a reply that does not fit")

    inner: dict[str, Any] = {**ALL_NODES, "fraction_evaluate": 0.0}
    strategy, grid = secure(FedAvg(**inner), "double-mask"), secured(change)
    ours = run(strategy, grid)
    own = run(FedAvg(**inner), grid_of(with_handlers(ClientApp(), failing)))
    assert strategy.skipped == []
    np.testing.assert_allclose(weights(ours), weights(own), atol=2e-7)
    steps = [reply for reply in grid.replies if reply.metadata.message_type.endswith(STEP)]
    assert len(steps) == 3 * (SITES - 1)


@pytest.mark.parametrize("why", ["min_difference", "wrapper"])
def test_no_reply_is_left_out_where_the_number_of_sites_matters(why: str) -> None:
    """Sites with min_difference open no such sum; Flower's wrapper adds noise by the number of replies that it has."""

    def later(reply: RecordDict, site: int, server_round: int) -> Any:
        return other_shape(reply, site, server_round) if server_round == 2 else None

    inner = secure(FedAvg(**ALL_NODES, fraction_evaluate=0.0), "double-mask")
    wrapper = flowers.DifferentialPrivacyClientSideFixedClipping(inner, 0.1, 1.0, SITES)
    run(wrapper if why == "wrapper" else inner, secured(later, min_difference=2 if why != "wrapper" else 1))
    assert inner.skipped == [(2, "train")]


@pytest.mark.parametrize("protocol", ["k-secure", "double-mask"])
def test_halves_of_the_sites_with_other_shapes_have_no_mean(protocol: str) -> None:
    def halves(reply: RecordDict, site: int, server_round: int) -> None:
        reply["arrays"]["w"] = Array(np.ones(2 + site % 2, np.float32))

    with pytest.raises(SumError, match="'w'"):
        run(secure(FedAvg(min_train_nodes=4), protocol), secured(halves, sites=4))


@pytest.mark.parametrize("answer", [None, 3, RecordDict()], ids=repr)
def test_a_handler_that_returns_no_message_is_told_what_to_return(answer: Any) -> None:
    app = secure_client_app(bound=BOUND)
    app.train()(lambda message, context: answer)
    app.query()(lambda message, context: answer)
    with pytest.raises(SumError, match="return Message"):
        run(secure(FedAvg(**ALL_NODES)), grid_of(app))
    (reply,) = grid_of(app).send_and_receive([Message(RecordDict(), 2, "query")])
    assert "return Message" in reply.error.reason


@pytest.mark.parametrize("protocol", ["k-secure", "double-mask"])
def test_an_app_that_fails_at_all_sites_ends_the_run(protocol: str) -> None:
    def failing(reply: RecordDict, site: int, server_round: int) -> None:
        raise KeyError("patient 4711")

    with pytest.raises(SumError, match="KeyError") as caught:
        run(secure(FedAvg(**ALL_NODES), protocol), secured(failing))
    # One text, with the names of all sites; and no other text that is theirs.
    assert str(caught.value).count("KeyError") == 1
    assert all(f"node-{node:020d}" in str(caught.value) for node in range(2, 2 + SITES))
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize(
    "change", [not_a_number, other_shape, above_the_bound], ids=lambda change: change.__name__
)
def test_what_was_computed_is_kept_when_a_later_round_goes_wrong(change: Change) -> None:
    def later(reply: RecordDict, site: int, server_round: int) -> Any:
        return change(reply, site, server_round) if server_round > 2 else None

    strategy = secure(FedAvg(**ALL_NODES, fraction_evaluate=0.0))
    result = run(strategy, secured(later))
    assert strategy.skipped == [(3, "train")]
    np.testing.assert_array_equal(
        weights(result), weights(run(secure(FedAvg(**ALL_NODES, fraction_evaluate=0.0)), secured(), rounds=2))
    )


def test_a_site_without_examples_adds_nothing() -> None:
    def empty(reply: RecordDict, site: int, server_round: int) -> None:
        if site == 1:
            reply["metrics"]["num-examples"] = 0

    ours = run(secure(FedAvg(**ALL_NODES)), secured(empty))
    own = run(FedAvg(**ALL_NODES), grid_of(with_handlers(ClientApp(), empty)))
    np.testing.assert_allclose(weights(ours), weights(own), atol=2e-7)


def test_whole_numbers_and_other_types_of_arrays_are_as_flower_makes_them() -> None:
    def kinds(reply: RecordDict, site: int, server_round: int) -> None:
        for kind in ("int64", "int32", "uint8", "float64", "float16", "bool"):
            reply["arrays"][kind] = Array(np.array([[site, 1], [0, 3]]).astype(kind))
        reply["arrays"]["scalar"] = Array(np.array(float(site), dtype=np.float32))

    ours = run(secure(FedAvg(**ALL_NODES)), secured(kinds), rounds=1).arrays
    own = run(FedAvg(**ALL_NODES), grid_of(with_handlers(ClientApp(), kinds)), rounds=1).arrays
    assert list(ours) == list(own)
    for key, array in own.items():
        assert (ours[key].dtype, ours[key].shape) == (array.dtype, array.shape)
        tolerance = 2e-3 if key == "float16" else 1e-6
        np.testing.assert_allclose(ours[key].numpy(), array.numpy(), atol=tolerance)


# What can be known before training


def test_arrays_above_the_bound_are_told_before_anything_is_sent() -> None:
    grid, large = secured(), ArrayRecord({"w": Array(np.full(3, 20.0)), "b": Array(np.zeros(1))})
    with pytest.raises(SumError, match="'w'"):
        secure(FedAvg(**ALL_NODES)).start(grid, large, num_rounds=1)
    assert not grid.replies


@pytest.mark.parametrize(
    ("at_sites", "at_coordinator"),
    [
        ({"bound": 8.0}, {}),
        ({}, {"most_examples": 100}),
        ({"weighted_by": "rows"}, {}),
        ({"protocols": ["ring"]}, {}),
        ({"protocols": ()}, {"protocol": "plain"}),
        ({"protocols": ()}, {"protocol": "paillier"}),
        ({"min_sites": 6}, {}),
    ],
    ids=str,
)
def test_terms_that_do_not_fit_are_told_before_training(
    at_sites: dict[str, Any], at_coordinator: dict[str, Any]
) -> None:
    trained: list[int] = []
    grid = secured(lambda reply, site, server_round: trained.append(site), **at_sites)
    with pytest.raises(PanSVMError):
        run(secure(FedAvg(**ALL_NODES), **at_coordinator), grid)
    assert not trained


@pytest.mark.parametrize(
    "options",
    [
        {"bound": 0},
        {"bound": -1},
        {"bound": float("nan")},
        {"most_examples": 0},
        {"protocol": "rings"},
        {"protocol": None},
        {"k": 1},
        {"share_threshold": "half"},
        {"kk": 3},
    ],
    ids=str,
)
def test_bad_settings_at_the_coordinator(options: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        SecureAggregation(FedAvg(), **{"bound": 1.0, **options})


@pytest.mark.parametrize(
    "options", [{"bound": 0}, {"min_sites": 1}, {"min_sites": 2.5}, {"most_examples": -1}], ids=str
)
def test_bad_settings_at_a_site(options: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        secure_client_app(**{"bound": 1.0, **options})


def test_two_sites_of_one_name() -> None:
    grid = secured()
    for context in grid._contexts.values():
        context.node_config["name"] = "same"
    with pytest.raises(FederationError, match="'same'"):
        run(secure(FedAvg(**ALL_NODES)), grid)


def test_an_app_whose_own_folder_hides_ours_is_told_so(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clients").mkdir()
    (tmp_path / "clients" / "__init__.py").write_text("")
    program = "from flower_pansvm.secagg import secure_client_app"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "another name" in done.stderr.splitlines()[-1]


def test_the_clients_half_loads_nothing_of_the_coordinators() -> None:
    program = (
        "import sys\nfrom flower_pansvm.secagg import secure_client_app\n"
        "print(*(name for name in sys.modules if name.split('.')[0] in ('strategies', 'simulations')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    "parts",
    [
        '[["a", "b", "metric", [Infinity]]]',
        '[["a", "b", "metric", [-1]]]',
        '[["a", "b", "<U3", [1]]]',
        "[" * 10**5,
        "[1]",
    ],
    ids=lambda parts: parts[:30],
)
def test_what_a_site_says_of_its_reply_may_be_anything(parts: str) -> None:
    with pytest.raises(ValueError, match="no parts"):
        read_parts(parts)


def test_a_site_whose_keys_came_too_late_publishes_the_same_again() -> None:
    """With others it would forget which sums it has answered; refused, it were lost for the run."""
    grid, terms = secured(), MeanTerms(BOUND)
    sites, (node, *_) = MeanSites({"aggregation": "k-secure", "k": 2}, terms), grid.get_node_ids()
    sites.join(grid, [node], 10)
    keys = sites.joined.pop(node).keys
    sites.join(grid, [node], 10)
    assert sites.joined[node].keys == keys
    with pytest.raises(SumError):
        MeanSites({"aggregation": "ring"}, terms).join(grid, [node], 10)
