from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from flower_pansvm.secure_sum.contract import FEWEST_ENOUGH, SumRound
from flower_pansvm.secure_sum.mask_graph import (
    BROKEN,
    COLLUDING,
    enough_partners,
    givers,
    partners,
    public_order,
    receivers,
)


def a_round(count: int, keys: int = 1) -> SumRound:
    roster = tuple(f"site-{number}" for number in range(count))
    return SumRound(run="r", task="t", round_trip=1, attempt=0, roster=roster, keys=f"{keys:064x}")


def connected(nodes: set[str], graph: dict[str, set[str]]) -> bool:
    reached = {next(iter(nodes))}
    frontier = set(reached)
    while frontier:
        frontier = {other for node in frontier for other in graph[node] & nodes} - reached
        reached |= frontier
    return reached == nodes


KNOWN_ORDER = ("site-4", "site-1", "site-0", "site-3", "site-2")
CASES = [(sites, k) for sites in range(2, 10) for k in range(2, sites + 1)]


@pytest.mark.parametrize(("sites", "k"), CASES)
def test_partners_are_mutual_distinct_and_as_many_as_asked(sites: int, k: int) -> None:
    sum_round = a_round(sites)
    graph = {name: partners(sum_round, name, k) for name in sum_round.roster}
    wanted = min(k, sites - 1)
    wanted += wanted * sites % 2
    for name, others in graph.items():
        assert len(others) == len(set(others)) == wanted
        assert name not in others
        assert all(name in graph[other] for other in others)


@pytest.mark.parametrize(("sites", "k"), [case for case in CASES if case[0] <= 8])
def test_fewer_than_k_colluding_sites_never_cut_the_others_apart(sites: int, k: int) -> None:
    sum_round = a_round(sites)
    graph = {name: set(partners(sum_round, name, k)) for name in sum_round.roster}
    for corrupt in range(min(k, sites - 1)):
        for colluding in combinations(sum_round.roster, corrupt):
            assert connected(set(sum_round.roster) - set(colluding), graph)


@pytest.mark.parametrize("segments", [1, 2, 4])
def test_givers_and_receivers_fit_together(segments: int) -> None:
    sum_round = a_round(5)
    for name in sum_round.roster:
        handed = receivers(sum_round, name, segments)
        assert len(set(handed)) == segments
        assert name not in handed
        for place, receiver in enumerate(handed):
            assert givers(sum_round, receiver, segments)[place] == name


def test_the_order_does_not_depend_on_who_computes_it_but_on_the_keys_of_the_run() -> None:
    assert public_order(a_round(6), "x") == public_order(a_round(6), "x")
    orders = {public_order(a_round(6, keys=number), "x") for number in range(1, 30)}
    assert len(orders) > 20
    assert public_order(a_round(6), "x") != public_order(a_round(6), "y")
    assert public_order(a_round(6), "x") != public_order(replace(a_round(6), run="other"), "x")


def test_a_known_order() -> None:
    """SHA-256 of tag, run, keys, label and name, each with its length in front, made without this project's code."""
    assert public_order(a_round(5), "mask graph") == KNOWN_ORDER


@pytest.mark.parametrize("label", ["mask graph", "segments", "pass 0"])
def test_neither_a_number_of_a_sum_nor_a_site_that_is_left_out_changes_the_order(label: str) -> None:
    """A coordinator chooses task, round trip and attempt, and would try them until the neighbours suit it."""
    sum_round = a_round(5)
    order = public_order(sum_round, label)
    for number in range(2, 100):
        other = replace(sum_round, task=f"t{number}", round_trip=number, attempt=number)
        assert public_order(other, label) == order
    for left_out in sum_round.roster:
        fewer = replace(sum_round, roster=tuple(name for name in sum_round.roster if name != left_out))
        assert public_order(fewer, label) == tuple(name for name in order if name != left_out)


def test_every_site_comes_first_about_equally_often() -> None:
    firsts = Counter(public_order(a_round(4, keys=number), "x")[0] for number in range(1, 401))
    assert all(60 < count < 140 for count in firsts.values())
    assert len(firsts) == 4


@pytest.mark.parametrize("sites", [2, 7, 20, 33])
def test_of_few_sites_all_are_partners_where_nobody_has_chosen(sites: int) -> None:
    sum_round = a_round(sites)
    assert set(partners(sum_round, "site-1", enough_partners(sites))) == set(sum_round.roster) - {"site-1"}


@pytest.mark.parametrize("sites", [34, 40, 200, 1000, 10_000])
def test_of_many_sites_enough_are_partners(sites: int) -> None:
    k = enough_partners(sites)
    assert FEWEST_ENOUGH <= k < sites - 1
    assert k % 2 == 0
    assert sites**2 / 2 * COLLUDING**k <= BROKEN < sites**2 / 2 * COLLUDING ** (k - 2)


def test_the_probability_of_separated_sites_is_within_its_bound() -> None:
    """With a quarter of the sites colluding and four partners it is large enough to be counted."""
    sites, k, generator = 16, 4, np.random.default_rng(0)
    apart = 0
    for number in range(2000):
        sum_round = a_round(sites, keys=number + 1)
        graph = {name: set(partners(sum_round, name, k)) for name in sum_round.roster}
        honest = set(generator.choice(sum_round.roster, 3 * sites // 4, replace=False).tolist())
        apart += not connected(honest, graph)
    assert apart > 20  # else it shows nothing
    assert apart / 2000 < sites**2 / 2 * 0.25**k
