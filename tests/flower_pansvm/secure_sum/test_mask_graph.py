from collections import Counter
from itertools import combinations

import pytest

from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.mask_graph import givers, partners, public_order, receivers


def a_round(count: int, round_trip: int = 1) -> SumRound:
    roster = tuple(f"site-{number}" for number in range(count))
    return SumRound(run="r", task="t", round_trip=round_trip, attempt=0, roster=roster)


def connected(nodes: set[str], graph: dict[str, set[str]]) -> bool:
    reached = {next(iter(nodes))}
    frontier = set(reached)
    while frontier:
        frontier = {other for node in frontier for other in graph[node] & nodes} - reached
        reached |= frontier
    return reached == nodes


CASES = [(sites, k) for sites in range(2, 10) for k in range(2, sites + 1)]


@pytest.mark.parametrize(("sites", "k"), CASES)
def test_partners_are_mutual_distinct_and_as_many_as_asked(sites: int, k: int) -> None:
    this = a_round(sites)
    graph = {name: partners(this, name, k) for name in this.roster}
    wanted = min(k, sites - 1)
    wanted += wanted * sites % 2
    for name, others in graph.items():
        assert len(others) == len(set(others)) == wanted
        assert name not in others
        assert all(name in graph[other] for other in others)


@pytest.mark.parametrize(("sites", "k"), [case for case in CASES if case[0] <= 8])
def test_fewer_than_k_colluding_sites_never_cut_the_others_apart(sites: int, k: int) -> None:
    this = a_round(sites)
    graph = {name: set(partners(this, name, k)) for name in this.roster}
    for corrupt in range(min(k, sites - 1)):
        for colluding in combinations(this.roster, corrupt):
            assert connected(set(this.roster) - set(colluding), graph)


def test_complete_graph_by_default_size() -> None:
    this = a_round(7)
    assert set(partners(this, "site-3", 7)) == set(this.roster) - {"site-3"}


@pytest.mark.parametrize("segments", [1, 2, 4])
def test_givers_and_receivers_fit_together(segments: int) -> None:
    this = a_round(5)
    for name in this.roster:
        handed = receivers(this, name, segments)
        assert len(set(handed)) == segments
        assert name not in handed
        for place, receiver in enumerate(handed):
            assert givers(this, receiver, segments)[place] == name


def test_the_order_does_not_depend_on_who_computes_it_but_on_the_sum() -> None:
    assert public_order(a_round(6), "x") == public_order(a_round(6), "x")
    orders = {public_order(a_round(6, round_trip=number), "x") for number in range(1, 30)}
    assert len(orders) > 20
    assert public_order(a_round(6), "x") != public_order(a_round(6), "y")


def test_every_site_comes_first_about_equally_often() -> None:
    firsts = Counter(public_order(a_round(4, round_trip=number), "x")[0] for number in range(1, 401))
    assert all(60 < count < 140 for count in firsts.values())
    assert len(firsts) == 4
