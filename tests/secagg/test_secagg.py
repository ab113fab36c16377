"""Secure sums for other Flower apps: the same models as Flower's, by every protocol, and what is refused."""

from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAdagrad, FedAdam, FedAvg, FedAvgM, FedProx, FedYogi, Strategy

from flower_pansvm.errors import PanSVMError, SumError
from flower_pansvm.secagg import secure_client_app
from tests.secagg.app import (
    ALL,
    BOUND,
    SITES,
    grid_of,
    losing,
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
KINDS: dict[type[Strategy], dict[str, Any]] = {
    FedAvg: {},
    FedProx: {"proximal_mu": 0.1},
    FedAvgM: {"server_momentum": 0.5, "server_learning_rate": 0.9},
    FedAdam: {},
    FedAdagrad: {},
    FedYogi: {},
}


def inner(kind: type[Strategy] = FedAvg, **options: Any) -> Strategy:
    return kind(**{**ALL_NODES, **KINDS.get(kind, {}), **options})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_model_is_that_of_flowers_own_strategy(kind: type[Strategy]) -> None:
    own = run(inner(kind), grid_of(with_handlers(ClientApp())))
    ours = run(secure(inner(kind)), secured())
    np.testing.assert_allclose(weights(ours), weights(own), atol=2e-7)
    for step in ("train", "evaluate"):
        ours_by_round = getattr(ours, f"{step}_metrics_clientapp")
        for number, metrics in getattr(own, f"{step}_metrics_clientapp").items():
            assert ours_by_round[number].keys() == metrics.keys()
            for name, value in metrics.items():
                np.testing.assert_allclose(ours_by_round[number][name], value, rtol=1e-6)


@pytest.mark.parametrize("narrow", [False, True], ids=["64 bits", "32 bits"])
def test_every_protocol_gives_the_same_bits(narrow: bool) -> None:
    options = {"most_examples": 100} if narrow else {}
    protocols = [name for name in ALL if name != "paillier"]
    found = {name: weights(run(secure(inner(), name, **options), secured(**options))) for name in protocols}
    for vector in found.values():
        np.testing.assert_array_equal(vector, found["plain"])
    np.testing.assert_allclose(
        found["plain"], weights(run(inner(), grid_of(with_handlers(ClientApp())))), atol=3e-7
    )


@pytest.mark.slow
def test_paillier_gives_the_same_bits() -> None:
    strategy = inner(fraction_evaluate=0.0)
    expected = weights(run(secure(strategy, "plain"), secured(), rounds=1))
    np.testing.assert_array_equal(weights(run(secure(strategy, "paillier"), secured(), rounds=1)), expected)


def largest_payload(grid: Any) -> int:
    return max(
        len(array.data)
        for reply in grid.replies
        if reply.has_content()
        for record in reply.content.array_records.values()
        for array in record.values()
    )


def test_low_bounds_halve_the_bytes() -> None:
    def large(reply: RecordDict, site: int, server_round: int) -> None:
        reply["arrays"]["large"] = Array(np.full(10_000, 0.5 + site, np.float32))

    found = {}
    for most in (2.0**24, 100.0):
        grid = secured(large, most_examples=most)
        result = run(secure(inner(fraction_evaluate=0.0), most_examples=most), grid, rounds=1)
        examples = np.array([20 + 10 * site for site in range(SITES)])
        mean = examples @ (0.5 + np.arange(SITES)) / examples.sum()
        np.testing.assert_allclose(result.arrays["large"].numpy(), mean, atol=16 * SITES * 100 / 40 / 2**29)
        found[most] = largest_payload(grid)
    assert found[100.0] < 0.51 * found[2.0**24]


@pytest.mark.parametrize("protocol", ["k-secure", "double-mask"])
def test_a_second_strategy_goes_on_where_the_first_has_ended(protocol: str) -> None:
    grid = secured()
    first = run(secure(inner(), protocol), grid, rounds=1)
    second = secure(inner(FedAdam), protocol)
    ours = second.start(grid, first.arrays, num_rounds=2)
    assert second.skipped == []
    own = run(inner(), grid_of(with_handlers(ClientApp())), rounds=1)
    own = inner(FedAdam).start(grid_of(with_handlers(ClientApp())), own.arrays, num_rounds=2)
    np.testing.assert_allclose(weights(ours), weights(own), atol=5e-7)


# Drop-outs


@pytest.mark.parametrize("protocol", ["ring", "k-secure", "ring-hops"])
def test_a_round_with_a_drop_out_is_skipped_and_asked_no_site_twice(protocol: str) -> None:
    strategy, grid = secure(inner(fraction_evaluate=0.0), protocol), secured(losing([2]))
    result = run(strategy, grid)
    assert strategy.skipped == [(2, "train")]
    assert sorted(result.train_metrics_clientapp) == [1, 3]
    trains = [reply for reply in grid.replies if reply.metadata.message_type == "train"]
    assert len(trains) == 3 * SITES
    # The third round begins where the first ended, as in Flower.
    np.testing.assert_array_equal(
        weights(result), weights(run(secure(inner(fraction_evaluate=0.0)), secured(), rounds=2))
    )


@pytest.mark.parametrize(
    "kind", [FedAvg, *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind is not FedAvg)]
)
def test_double_masks_give_the_mean_of_the_sites_that_are_left_as_flower_does(kind: type[Strategy]) -> None:
    strategy = secure(inner(kind), "double-mask")
    ours = run(strategy, secured(losing([2])))
    assert strategy.skipped == []
    own = run(inner(kind), grid_of(with_handlers(ClientApp(), losing([2]))))
    np.testing.assert_allclose(weights(ours), weights(own), atol=2e-7)


@pytest.mark.parametrize("narrow", [False, True])
def test_a_site_may_drop_out_of_each_round_and_another_while_it_is_opened(narrow: bool) -> None:
    """Of seven sites, of which five have to answer."""

    def failing(reply: RecordDict, site: int, server_round: int) -> None:
        if site == server_round:
            raise RuntimeError("out of memory")

    sites: dict[str, Any] = {"min_available_nodes": 7, "min_train_nodes": 7, "fraction_evaluate": 0.0}
    options = {"most_examples": 100} if narrow else {}
    strategy, grid = secure(FedAvg(**sites), "double-mask", **options), secured(failing, sites=7, **options)
    push = grid.push_messages

    def pushing(messages: Any) -> Any:
        # Node 7 is site 5: it never answers a step.
        return [
            "lost"
            if message.metadata.message_type.startswith("query")
            and message.metadata.dst_node_id == 7
            and joined
            else next(iter(push([message])))
            for message in messages
            for joined in [bool(strategy.sites.joined)]
        ]

    grid.push_messages = pushing  # type: ignore[method-assign]
    strategy.timeout = 0.1
    ours = strategy.start(grid, start_arrays(), num_rounds=3, timeout=0.1)
    own = FedAvg(**sites).start(
        grid_of(with_handlers(ClientApp(), failing), sites=7), start_arrays(), num_rounds=3
    )
    assert strategy.skipped == []
    np.testing.assert_allclose(weights(ours), weights(own), atol=1e-6 if narrow else 2e-7)


def test_too_many_drop_outs_skip_the_round() -> None:
    strategy = secure(inner(), "double-mask")
    run(strategy, secured(losing([1, 2])))
    assert strategy.skipped == [(2, "train")]


def test_the_sites_min_sites_holds_for_those_that_are_left() -> None:
    strategy = secure(inner(), "double-mask")
    run(strategy, secured(losing([2]), min_sites=5))
    assert strategy.skipped == [(2, "train")]


# Sampled sites, and others that join later


@pytest.mark.parametrize("protocol", ["ring", "k-secure", "double-mask", "ring-hops"])
def test_sampled_sites(protocol: str) -> None:
    """Each round another choice of them; the mean is that of the chosen."""
    strategy = secure(FedAvg(fraction_train=0.5, fraction_evaluate=0.5, min_available_nodes=9), protocol)
    grid = secured(sites=9)
    result = run(strategy, grid, rounds=6)
    assert strategy.skipped == []
    assert sorted(result.train_metrics_clientapp) == [1, 2, 3, 4, 5, 6]
    trains = [reply.metadata.src_node_id for reply in grid.replies if reply.metadata.message_type == "train"]
    assert len(trains) == 6 * 4
    assert len(strategy.sites.joined) > 4


def test_a_site_that_connects_later_joins_the_next_round() -> None:
    grid = secured(sites=6)
    nodes = grid.get_node_ids
    seen: list[int] = []

    def growing() -> list[int]:
        seen.append(0)
        return list(nodes())[: 4 if len(seen) < 4 else 6]

    grid.get_node_ids = growing  # type: ignore[method-assign]
    strategy = secure(FedAvg(min_available_nodes=4, min_train_nodes=4, fraction_evaluate=0.0))
    run(strategy, grid, rounds=4)
    assert strategy.skipped == []
    assert len(strategy.sites.joined) == 6


def test_a_site_that_joins_late_and_cannot_does_not_stop_the_others() -> None:
    """Its node config names a key that is not there; another has the name of a site that is."""
    grid = secured(sites=6)
    nodes = grid.get_node_ids
    strategy = secure(FedAvg(min_available_nodes=4, min_train_nodes=4, fraction_evaluate=0.0))
    grid.get_node_ids = lambda: list(nodes())[: 6 if strategy._opened else 4]  # type: ignore[method-assign]
    grid._contexts[6].node_config["identity"] = "/nowhere/id.pem"
    grid._contexts[7].node_config["name"] = "node-00000000000000000003"
    result = run(strategy, grid, rounds=4)
    assert strategy.skipped == []
    assert sorted(result.train_metrics_clientapp) == [1, 2, 3, 4]
    assert sorted(strategy.sites.joined) == [2, 3, 4, 5]


def test_with_the_first_sum_each_error_is_told() -> None:
    grid = secured()
    grid._contexts[6].node_config["identity"] = "/nowhere/id.pem"
    with pytest.raises(PanSVMError):
        run(secure(inner(), "double-mask"), grid)


@pytest.mark.parametrize(("forgetful", "rounds"), [([3], [1, 2, 3]), ([3, 4, 5], [])])
def test_sites_that_are_started_again_while_a_sum_is_opened(forgetful: list[int], rounds: list[int]) -> None:
    """Of seven sites, of which five have to answer."""
    grid = secured(sites=7)
    answer = grid._answer

    def forgetting(number: str, message: Message) -> Message:
        if (
            message.metadata.message_type == "query.pansvm_mean_step"
            and message.metadata.dst_node_id in forgetful
        ):
            grid._contexts[message.metadata.dst_node_id].state = RecordDict()
        return answer(number, message)

    grid._answer = forgetting  # type: ignore[method-assign]
    sites: dict[str, Any] = {"min_available_nodes": 7, "min_train_nodes": 7, "fraction_evaluate": 0.0}
    strategy = secure(FedAvg(**sites), "double-mask")
    if not rounds:
        with pytest.raises(SumError, match="has not joined"):
            run(strategy, grid)
        return
    assert sorted(run(strategy, grid).train_metrics_clientapp) == rounds
    assert strategy.skipped == []


def test_a_strategy_may_run_twice() -> None:
    """In one process, as of a notebook that makes it once: in a run, and in another, whose sites have new keys."""
    strategy, grid = secure(inner()), secured()
    found = [weights(run(strategy, of)) for of in (grid, grid, secured(run=8))]
    np.testing.assert_array_equal(found, [found[0]] * 3)
    assert strategy.skipped == []


# What a site does not let through


def ask(grid: Any, node: int, kind: str, content: RecordDict) -> Message:
    (reply,) = grid.send_and_receive([Message(content, node, kind)])
    return reply


@pytest.mark.parametrize("kind", ["train", "evaluate"])
def test_a_request_without_the_secure_sum_is_refused(kind: str) -> None:
    """Also in a run that the site has joined: else a coordinator would only leave the sum out."""
    grid = secured()
    content = RecordDict({"arrays": start_arrays(), "config": ConfigRecord({"server-round": 1})})
    assert ask(grid, 2, kind, content).error.code == SumError.code
    run(secure(inner()), grid, rounds=1)
    assert ask(grid, 2, kind, content).error.code == SumError.code


def test_the_apps_own_queries_are_answered_as_they_are() -> None:
    app = secure_client_app(bound=BOUND)

    @app.query()
    def query(message: Message, context: Context) -> Message:
        return Message(RecordDict({"own": ConfigRecord({"answer": 42})}), reply_to=message)

    assert ask(grid_of(app), 2, "query", RecordDict()).content["own"]["answer"] == 42


def test_an_exceptions_text_stays_at_the_site(caplog: pytest.LogCaptureFixture) -> None:
    grid = secured(losing([2]))
    run(secure(inner()), grid)
    errors = [reply.error.reason for reply in grid.replies if reply.has_error()]
    assert len(errors) == 1
    assert "RuntimeError" in errors[0]
    assert "4711" not in errors[0]
    assert "4711" not in caplog.text


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("error", [KeyError("patient 4711"), SystemExit("patient 4711")], ids=str)
def test_a_lifespans_exception_stays_at_the_site(
    when: str, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    app = secure_client_app(bound=BOUND)

    @app.lifespan()
    def lifespan(context: Context) -> Any:
        if when == "before":
            raise error
        yield
        raise error

    context = next(iter(grid_of(app)._contexts.values()))
    message = Message(RecordDict(), 2, "train")
    message.metadata.__dict__["_message_id"] = "1"
    reply = app(message, context)
    assert reply.error.code == PanSVMError.code
    assert type(error).__name__ in reply.error.reason
    assert "4711" not in reply.error.reason + caplog.text


def test_a_step_without_a_handler_is_named() -> None:
    grid = grid_of(secure_client_app(bound=BOUND))
    assert "'evaluate'" in ask(grid, 2, "evaluate", RecordDict()).error.reason


def test_the_apps_own_mods_run_inside_the_mask() -> None:
    """What a mod clips is clipped before it is masked, and a mod sees no part of the secure sum."""
    seen: list[list[str]] = []

    def clipping(message: Message, context: Context, call_next: Any) -> Message:
        seen.append(sorted(message.content))
        reply = call_next(message, context)
        if message.metadata.message_type == "train":
            arrays = reply.content["arrays"]
            reply.content["arrays"] = ArrayRecord(
                {key: Array(np.clip(array.numpy(), -0.1, 0.1)) for key, array in arrays.items()}
            )
        return reply

    own = run(inner(), grid_of(with_handlers(ClientApp(mods=[clipping]))))
    seen.clear()
    ours = run(secure(inner()), secured(mods=[clipping]))
    assert {tuple(names) for names in seen} == {("arrays", "config")}
    assert np.abs(weights(ours)).max() <= 0.1 + 1e-6
    np.testing.assert_allclose(weights(ours), weights(own), atol=2e-7)


@pytest.mark.parametrize("protocol", ["k-secure", "double-mask"])
@pytest.mark.parametrize("how", ["replaced", "cleared"])
def test_a_handler_may_do_what_it_likes_with_the_state(how: str, protocol: str) -> None:
    def forgetful(message: Message, context: Context, call_next: Any) -> Message:
        if how == "replaced":
            context.state = RecordDict({"mine": ConfigRecord({"round": 1})})
        else:
            context.state.clear()
        return call_next(message, context)

    strategy, grid = secure(inner(), protocol), secured(mods=[forgetful])
    run(strategy, grid)
    assert strategy.skipped == []
    assert {"mine"} <= {*grid._contexts[2].state} or how == "cleared"


def test_an_answer_with_an_error_of_the_apps_own_tells_nothing() -> None:
    def failing(message: Message, context: Context, call_next: Any) -> Message:
        return Message(Error(77, "patient 4711"), reply_to=message)

    grid = secured(mods=[failing])
    with pytest.raises(SumError):
        run(secure(inner()), grid, rounds=1)
    assert not any("4711" in reply.error.reason for reply in grid.replies if reply.has_error())
