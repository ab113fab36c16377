"""A coordinator that does not follow the protocol: what it gets of one site, and what the sites refuse.

What it can still learn is shown here as well: rounds with other sites differ by a site's reply.
"""

import copy
import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.serverapp.strategy import FedAvg

from flower_pansvm import records
from flower_pansvm.errors import PanSVMError, SumError
from flower_pansvm.secure_sum.contract import Member, SumRound
from flower_pansvm.secure_sum.new_identity import create_identity
from flower_pansvm.summing import AllKeys, PublicKeys, as_bytes, keys_digest
from flower_pansvm.weighted_mean import ALL_KEYS, SUM, MeanSum, SiteParts, decode_mean, digest_of, read_parts
from strategies.secagg.strategy import REQUESTED, SecureAggregation
from tests.secagg.app import BOUND, FEATURES, SITES, losing, rows, run, secure, secured, start_arrays, trained

ALL_NODES: dict[str, Any] = {"min_available_nodes": SITES, "min_train_nodes": SITES, "fraction_evaluate": 0.0}
CONFIG = ConfigRecord({"server-round": 1})
VICTIM = 4  # node of site 2
"""Whose reply the coordinator is after."""


def own_reply() -> tuple[Any, int]:
    """Return the victim's weights after the first round, and its number of examples."""
    w, b, _ = trained(start_arrays(), 0.0, VICTIM - 2)
    return np.concatenate([b, w]), len(rows(VICTIM - 2)[0])


class Feigning(SecureAggregation):
    """Has all replies, opens the sum, and says then that the victim's was lost."""

    opened = 0

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Any:
        assert self._sum is not None
        grid, this = self._sum
        payloads = {
            f"node-{reply.metadata.src_node_id:020d}": reply.content[f"{SUM}.arrays"]["payload"].data
            for reply in replies
        }
        relay = partial(self._relay, grid, this)
        self.protocol.total(payloads, this, relay)
        self.opened = 1
        del payloads[f"node-{VICTIM:020d}"]
        self.protocol.total(payloads, this, relay)
        self.opened = 2


@pytest.mark.parametrize("protocol", ["ring", "k-secure", "double-mask"])
def test_a_feigned_loss_opens_no_second_sum(protocol: str) -> None:
    strategy = Feigning(FedAvg(**ALL_NODES), bound=BOUND, protocol=protocol)
    with pytest.raises(SumError):
        run(strategy, secured(), rounds=1)
    assert strategy.opened == 1


@pytest.mark.parametrize("protocol", ["ring", "k-secure", "double-mask"])
def test_no_site_answers_a_sum_again_without_another(protocol: str) -> None:
    """The same round, with the same number, over all but the victim: every site refuses."""
    strategy, grid = secure(FedAvg(**ALL_NODES), protocol), secured()
    run(strategy, grid, rounds=1)
    nodes = [node for node in grid.get_node_ids() if node != VICTIM]
    number = REQUESTED[grid.run.run_id]
    _, groups = strategy.sites.sum_of(str(grid.run.run_id), "", number, nodes)
    content = RecordDict({"arrays": start_arrays(), "config": copy.deepcopy(CONFIG), **groups})
    replies = list(grid.send_and_receive([Message(content, node, "train") for node in nodes]))
    assert [reply.error.code for reply in replies] == [SumError.code] * len(nodes)


def test_the_next_round_without_a_site_tells_that_sites_reply() -> None:
    """What no protocol prevents: two rounds over other sites, trained from the same weights, differ by one reply.

    A coordinator need only say that the victim is gone. So a site insists on many others (min_sites), and what must not
    be known of one site is perturbed before the mask.
    """
    grid, strategy, means, totals = secured(), secure(FedAvg(**ALL_NODES)), [], []
    everyone = list(grid.get_node_ids())
    for number, nodes in enumerate((everyone, [node for node in everyone if node != VICTIM]), start=1):
        strategy.strategy = FedAvg(min_train_nodes=len(nodes))
        grid.get_node_ids = lambda nodes=nodes: nodes  # type: ignore[misc]
        messages = strategy.configure_train(number, start_arrays(), ConfigRecord(), grid)
        mean = strategy._mean("train", number, grid.send_and_receive(messages))
        assert mean is not None
        totals.append(mean.content["metrics"]["num-examples"])
        means.append(np.concatenate([array.numpy() for _, array in sorted(mean.content["arrays"].items())]))
    reply, examples = own_reply()
    assert totals[0] - totals[1] == examples
    found = (means[0] * totals[0] - means[1] * totals[1]) / examples
    np.testing.assert_allclose(found, reply, atol=1e-5)


@pytest.mark.parametrize("protocol", ["k-secure", "double-mask"])
def test_sites_that_ask_for_a_difference_refuse_the_next_round_without_a_site(protocol: str) -> None:
    grid, strategy = secured(min_difference=2), secure(FedAvg(**ALL_NODES), protocol)
    run(strategy, grid, rounds=2)
    assert strategy.skipped == []
    nodes = [node for node in grid.get_node_ids() if node != VICTIM]
    strategy.strategy = FedAvg(min_train_nodes=len(nodes), fraction_evaluate=0.0)
    grid.get_node_ids = lambda: nodes  # type: ignore[method-assign]
    run(strategy, grid, rounds=1)
    assert strategy.skipped == [(1, "train")]


def test_nor_do_they_open_a_sum_without_a_site_that_is_said_to_have_dropped_out() -> None:
    strategy = secure(FedAvg(**ALL_NODES), "double-mask")
    run(strategy, secured(losing([VICTIM - 2]), min_difference=2))
    assert strategy.skipped == [(2, "train"), (3, "train")]


@pytest.mark.parametrize("protocol", ["k-secure", "double-mask"])
@pytest.mark.parametrize(
    "rosters",
    [
        # No two of these are seen by one site whose difference is a site; all three give the first site's reply.
        ((0, 1, 2, 3, 4, 5, 6), (1, 2, 3), (4, 5, 6)),
        ((0, 1, 2, 3), (0, 1, 4, 5), (0, 2, 4, 6)),
        # Others that join later may as well be the coordinator's.
        ((0, 1, 2, 3), (0, 1, 2, 3, 4, 5)),
    ],
    ids=str,
)
def test_sites_that_ask_for_a_difference_answer_for_the_same_sites_only(
    rosters: tuple[tuple[int, ...], ...], protocol: str
) -> None:
    grid, strategy = secured(sites=7, min_difference=2), secure(FedAvg(), protocol)
    nodes = list(grid.get_node_ids())
    for number, places in enumerate(rosters):
        grid.get_node_ids = lambda places=places: [nodes[place] for place in places]  # type: ignore[misc]
        strategy.strategy = FedAvg(min_train_nodes=len(places), fraction_evaluate=0.0)
        run(strategy, grid, rounds=1)
        assert len(strategy.skipped) == number
    grid.get_node_ids = lambda: [nodes[place] for place in rosters[0]]  # type: ignore[method-assign]
    strategy.strategy = FedAvg(min_train_nodes=len(rosters[0]), fraction_evaluate=0.0)
    run(strategy, grid, rounds=1)
    assert len(strategy.skipped) == len(rosters) - 1


@pytest.mark.parametrize(("least", "errors"), [(1, [True, False, True]), (2, [True, True, True])])
def test_a_number_cannot_be_searched_for_by_the_errors_of_its_site(least: int, errors: list[bool]) -> None:
    """With weights of its choice the coordinator halved the interval of one: 24 rounds gave six digits of an update."""
    grid, strategy = secured(min_difference=least), secure(FedAvg(**ALL_NODES))
    nodes, found = list(grid.get_node_ids()), []
    strategy.sites.join(grid, nodes, 1.0)
    for number, start in enumerate((BOUND, BOUND / 2, BOUND), start=1):
        weights = np.append(np.full(FEATURES - 1, 1 - BOUND), start).astype(np.float32)
        arrays = ArrayRecord({"w": Array(weights), "b": Array(np.zeros(1, np.float32))})
        _, groups = strategy.sites.sum_of(str(grid.run.run_id), "", number, nodes)
        content = RecordDict({"arrays": arrays, "config": copy.deepcopy(CONFIG), **groups})
        replies = grid.send_and_receive([Message(content, VICTIM - 1, "train")])
        found += [reply.has_error() for reply in replies]
    assert found == errors


def test_a_sum_over_fewer_sites_than_the_difference_is_refused() -> None:
    with pytest.raises(SumError):
        run(secure(FedAvg(**ALL_NODES)), secured(min_difference=SITES + 1))


def test_two_evaluate_rounds_tell_whether_somebody_took_part_and_the_label() -> None:
    """What no rule about sites prevents: between two models that differ for this person only, the accuracy moves.

    The coordinator knows the person's measurements alone. Of 40 patients it tells 40 labels; 1 of 40 strangers seems to
    be there.
    """
    grid, strategy = secured(min_difference=2), secure(FedAvg(**ALL_NODES))
    nodes = list(grid.get_node_ids())

    def right(w: Any, b: float) -> int:
        arrays = ArrayRecord({"w": Array(w), "b": Array(np.array([b]))})
        content = RecordDict({"arrays": arrays, "config": copy.deepcopy(CONFIG)})
        strategy.sites.join(grid, nodes, 1.0)
        messages = strategy._as_sum([Message(content, node, "evaluate") for node in nodes], grid)
        mean = strategy._mean("evaluate", 1, grid.send_and_receive(messages))
        assert mean is not None
        metrics = mean.content["metrics"]
        return round(metrics["accuracy"] * metrics["num-examples"])

    def told(person: Any) -> int:
        w = np.random.default_rng(3).normal(size=FEATURES)
        w /= np.linalg.norm(w)
        return right(w, 1e-4 - w @ person) - right(w, -1e-4 - w @ person)

    X, y = rows(VICTIM - 2)
    assert [told(person) for person in X[:5]] == y[:5].tolist()
    assert [told(person) for person in np.random.default_rng(1000).normal(size=(5, FEATURES))] == [0] * 5


# A coordinator that hands out keys of its own


def meddle_with_keys(grid: Any, victim: int) -> None:
    """Have the coordinator give the victim another key of every other site."""
    answer = grid._answer

    def changed(number: str, message: Message) -> Message:
        if message.metadata.dst_node_id == victim and records.has(message.content, ALL_KEYS):
            keys = records.read(message.content, ALL_KEYS, AllKeys)
            octets = keys.octets.copy()
            octets[5] ^= 1
            content = RecordDict(dict(message.content))
            records.write(content, ALL_KEYS, AllKeys(keys.sites, octets))
            message.content = content
        return answer(number, message)

    grid._answer = changed


@pytest.fixture
def identified(tmp_path: Path) -> Any:
    """Return a grid whose sites know each other's identities."""
    grid = secured()
    roster = {}
    for node, context in grid._contexts.items():
        roster[f"hospital-{node}"] = create_identity(tmp_path / f"{node}.pem")
        context.node_config |= {"name": f"hospital-{node}", "identity": str(tmp_path / f"{node}.pem")}
    (tmp_path / "roster.json").write_text(json.dumps(roster))
    for context in grid._contexts.values():
        context.node_config["roster"] = str(tmp_path / "roster.json")
    return grid


def test_sites_that_know_each_others_identities(identified: Any) -> None:
    strategy = secure(FedAvg(**ALL_NODES))
    result = run(strategy, identified)
    assert strategy.skipped == []
    assert result.train_metrics_clientapp.keys() == {1, 2, 3}
    assert {site.name for site in strategy.sites.joined.values()} == {
        f"hospital-{node}" for node in range(2, 7)
    }


def test_exchanged_keys_are_refused_by_who_has_a_roster(identified: Any) -> None:
    meddle_with_keys(identified, VICTIM)
    with pytest.raises(SumError, match="hospital-"):
        run(secure(FedAvg(**ALL_NODES)), identified)


def reply_among_invented_sites(grid: Any, min_sites: int) -> Any:
    """Return what a coordinator that plays all other sites, with keys of its own, reads in the victim's reply."""
    strategy = secure(FedAvg(**ALL_NODES))
    strategy.sites.join(grid, [VICTIM], 60.0)
    site = strategy.sites.joined[VICTIM]
    invented = {f"sybil {number}": X25519PrivateKey.generate() for number in range(min_sites - 1)}
    keys = {
        name: PublicKeys(key.public_key().public_bytes_raw(), b"", b"", b"") for name, key in invented.items()
    }
    keys = dict(sorted({**keys, site.name: site.keys}.items()))
    request = RecordDict({"arrays": start_arrays(), "config": copy.deepcopy(CONFIG)})
    run_id, task = str(grid.run.run_id), digest_of("train", request)
    this = SumRound(run_id, task, 1, 0, tuple(keys), keys_digest(as_bytes(keys)))
    records.write(request, SUM, MeanSum(1))
    records.write(request, ALL_KEYS, AllKeys.of(keys))
    (reply,) = grid.send_and_receive([Message(request, VICTIM, "train")])
    if reply.has_error():
        return reply.error.reason
    answer = records.read(reply.content, SUM, SiteParts, "the victim")
    payloads = {site.name: answer.payload.tobytes()}
    for name, key in invented.items():
        peers = {peer: public.public_key for peer, public in keys.items() if peer != name}
        member = Member(name, key, peers, b"", dict.fromkeys(keys, b""))
        nothing = np.zeros(answer.payload.size // 8, np.uint64)
        payloads[name], _ = strategy.protocol.contribute(nothing, this, member)
    words = strategy.protocol.total(payloads, this, None)  # type: ignore[arg-type]
    mean = decode_mean(words, read_parts(answer.parts), strategy.terms, min_sites, min_sites)["arrays"]
    return np.concatenate([array.numpy() for _, array in sorted(mean.items())])


def test_without_a_roster_a_coordinator_plays_all_other_sites(identified: Any) -> None:
    found = reply_among_invented_sites(secured(min_sites=8), 8)
    np.testing.assert_allclose(found, own_reply()[0], atol=1e-6)
    assert "sybil" in reply_among_invented_sites(identified, 8)


def test_keys_that_change_in_the_run_are_refused_without_a_roster() -> None:
    grid = secured()
    strategy = secure(FedAvg(**ALL_NODES))
    run(strategy, grid, rounds=1)
    meddle_with_keys(grid, VICTIM)
    run(strategy, grid, rounds=1)
    assert len(strategy.skipped) == 1


def test_a_site_that_is_asked_something_else_is_hidden_by_the_masks() -> None:
    """The coordinator gives the victim other weights than the others: nothing but noise comes out."""
    grid, strategy = secured(), secure(FedAvg(**ALL_NODES))
    answer = grid._answer

    def changed(number: str, message: Message) -> Message:
        if message.metadata.dst_node_id == VICTIM and message.metadata.message_type == "train":
            other = ArrayRecord({key: Array(array.numpy() + 1) for key, array in start_arrays().items()})
            message.content = RecordDict({**message.content, "arrays": other})
        return answer(number, message)

    grid._answer = changed  # type: ignore[method-assign]
    with pytest.raises(SumError, match="masks do not cancel"):
        run(strategy, grid, rounds=1)


# Messages at the same time, at a site that is not simulated


def deployed(context: Any, tmp_path: Path) -> Context:
    """Return a plain context with the state of a simulated one."""
    config = {**context.node_config, "state": str(tmp_path / "state")}
    return Context(context.run_id, context.node_id, config, copy.deepcopy(context.state), {})


def test_a_step_is_answered_once_though_two_processes_have_the_same_state(tmp_path: Path) -> None:
    """The coordinator asks twice at once, for shares of both kinds: the second process finds the first one's note."""
    grid, steps = secured(), []
    answer = grid._answer

    def remembering(number: str, message: Message) -> Message:
        if (
            message.metadata.message_type == "query.pansvm_mean_step"
            and message.metadata.dst_node_id == VICTIM
        ):
            steps.append((copy.deepcopy(message), deployed(grid._contexts[VICTIM], tmp_path)))
        return answer(number, message)

    grid._answer = remembering  # type: ignore[method-assign]
    run(secure(FedAvg(**ALL_NODES), "double-mask"), grid, rounds=1)
    (message, context) = steps[0]
    first = grid.app(copy.deepcopy(message), copy.deepcopy(context))
    again = grid.app(copy.deepcopy(message), copy.deepcopy(context))
    assert first.has_content()
    assert again.error.code == SumError.code


@pytest.mark.parametrize(("least", "refused"), [(1, False), (2, True)])
def test_sums_over_other_sites_are_refused_though_two_processes_have_the_same_state(
    least: int, refused: bool, tmp_path: Path
) -> None:
    """The coordinator asks for a sum over all, and at once for one without the victim."""
    grid, strategy = secured(min_difference=least), secure(FedAvg(**ALL_NODES))
    nodes = list(grid.get_node_ids())
    strategy.sites.join(grid, nodes, 1.0)
    asked = nodes[0]
    contexts = [deployed(grid._contexts[asked], tmp_path) for _ in range(2)]
    replies = []
    for number, chosen in enumerate((nodes, [node for node in nodes if node != VICTIM]), start=1):
        _, groups = strategy.sites.sum_of(str(grid.run.run_id), "", number, chosen)
        message = Message(RecordDict({"arrays": start_arrays(), "config": CONFIG, **groups}), asked, "train")
        message.metadata.__dict__["_message_id"] = str(number)
        replies.append(grid.app(message, contexts[number - 1]))
    assert replies[0].has_content()
    assert replies[1].has_error() == refused


def test_a_state_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    grid = secured()
    strategy = secure(FedAvg(**ALL_NODES))
    nodes = list(grid.get_node_ids())
    strategy.sites.join(grid, nodes, 1.0)
    _, groups = strategy.sites.sum_of(str(grid.run.run_id), "", 1, nodes)
    content = RecordDict({"arrays": start_arrays(), "config": CONFIG, **groups})
    message = Message(content, VICTIM, "train")
    message.metadata.__dict__["_message_id"] = "1"
    reply = grid.app(message, deployed(grid._contexts[VICTIM], tmp_path))
    assert reply.error.code >= PanSVMError.code
    assert str(tmp_path) not in reply.error.reason
