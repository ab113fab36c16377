"""What a hospital pins in its node config, the coordinator cannot choose otherwise."""

from typing import Any

import pytest
from flwr.app import Context, RecordDict

from clients.gate.levels import check_consents
from clients.hospital import Hospital, SimulatedContext, hospital_of
from flower_pansvm.consents import CONSENTS
from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.terms import Scalar
from strategies.settings import make_settings
from tests.contexts import SIMULATED_NODE, own_hospital


def hospital(node: dict[str, Scalar], **config: object) -> Hospital:
    return own_hospital({"name": "north", **node}, **config)


KEPT: list[tuple[dict[str, Scalar], dict[str, Any]]] = [
    ({}, {"aggregation": "ring-hops"}),
    ({"aggregation": "k-secure"}, {"aggregation": "k-secure", "k": 2}),
    ({"aggregation": "ring"}, {"aggregation": "ring"}),
    *(({"k": 4}, {"aggregation": "k-secure", "k": k}) for k in (4, 0)),
    *(({"k": k}, {"aggregation": "ring"}) for k in (4, 40)),
]
BROKEN: list[tuple[dict[str, Scalar], dict[str, Any]]] = [
    *(({"aggregation": pin}, {"aggregation": "ring"}) for pin in ("k-secure", "plain")),
    *(({"aggregation": "ring"}, {"aggregation": other}) for other in ("plain", "ring-hops")),
    ({"scaling": "none"}, {"scaling": "minmax"}),
    *(({"k": pin}, {"aggregation": "k-secure", "k": k}) for pin, k in ((4, 3), (33, 0))),
]


@pytest.mark.parametrize(("node", "config"), KEPT, ids=str)
def test_a_run_that_keeps_to_the_pins_is_accepted(node: dict[str, Scalar], config: dict[str, Any]) -> None:
    assert hospital(node, **config).terms == make_settings(**config).terms


@pytest.mark.parametrize(("node", "config"), BROKEN, ids=str)
def test_a_run_that_does_not_is_refused(node: dict[str, Scalar], config: dict[str, Any]) -> None:
    with pytest.raises(SumError, match="Site 'north' refuses"):
        hospital(node, **config)


def test_a_hospital_does_not_look_at_what_is_the_coordinators_own() -> None:
    run = {
        "strategy": "of-a-later-version",
        "landmarks": "whatever",
        "a-key-of-a-later-version": True,
        "C": -1,
    }
    here = hospital_of(Context(1, 2, {"name": "north"}, RecordDict(), {"min-sites": 4, **run}))
    assert here.terms.min_sites == 4
    assert here.terms.digest != hospital({}, min_sites=4).terms.digest


MISSPELT = ("min_sites", "agregation", "Roster", "min-cluster ", "extreme", "clases")


@pytest.mark.parametrize(
    "node",
    [*({key: 3} for key in MISSPELT), *({key: "three"} for key in ("min-sites", "min-cluster", "k"))],
    ids=str,
)
def test_a_misspelt_pin_and_one_that_is_no_number_are_errors_and_not_ignored(node: dict[str, Scalar]) -> None:
    with pytest.raises(SettingError, match=next(iter(node)).strip()):
        hospital(node, aggregation="k-secure", k=2)


@pytest.mark.parametrize(
    ("pin", "run", "least"), [(None, 2, 3), (None, 3, 3), (None, 4, 4), (2, 2, 2), (2, 3, 3), (5, 3, 5)]
)
def test_a_hospital_asks_for_three_sites_unless_it_says_otherwise_whatever_the_run_says(
    pin: int | None, run: int, least: int
) -> None:
    assert hospital({} if pin is None else {"min-sites": pin}, min_sites=run).least_sites == least
    assert own_hospital(SIMULATED_NODE, kind=SimulatedContext, min_sites=2).least_sites == 2


def test_patients_are_grouped_by_five_unless_the_hospital_says_otherwise() -> None:
    assert hospital({}, min_cluster=1).least_patients == 5
    assert hospital({"min-cluster": 8}, min_cluster=1).least_patients == 8
    assert hospital({"min-cluster": 1}).least_patients == 1
    assert own_hospital(SIMULATED_NODE, kind=SimulatedContext).least_patients == 1


@pytest.mark.parametrize("said", ["yes", "Agreed", 1, True, ""])
@pytest.mark.parametrize("consent", CONSENTS)
def test_a_hospital_agrees_by_one_word_only(consent: str, said: Scalar) -> None:
    with pytest.raises(SettingError, match=f"'north' has another value than 'agreed' for '{consent}'"):
        hospital({consent: said})


@pytest.mark.parametrize("consent", CONSENTS)
def test_what_is_not_agreed_to_is_not_disclosed(consent: str) -> None:
    with pytest.raises(SettingError, match=f"write {consent}='agreed' into the site's node config"):
        check_consents(hospital({"scaling": "minmax"}, scaling="minmax"), [consent])
    check_consents(hospital({consent: "agreed"}), [consent])
    check_consents(own_hospital(SIMULATED_NODE, kind=SimulatedContext), [consent])
