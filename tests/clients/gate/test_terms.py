"""What a hospital pins in its node config, the coordinator cannot choose otherwise."""

from pathlib import Path

import pytest
from flwr.app import Context, RecordDict

from clients.gate.levels import check_consents
from clients.hospital import Hospital, SimulatedContext, hospital_of
from flower_pansvm.consents import CONSENTS
from flower_pansvm.errors import PanSVMError, SettingError, SumError
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from strategies.pan_svm.strategy import PanSVM
from strategies.settings import Settings, make_settings
from tests.conftest import MakeGrid
from tests.contexts import SIMULATED_NODE, own_hospital


def hospital(node: dict[str, Scalar], **config: object) -> Hospital:
    return own_hospital({"name": "north", **node}, **config)


@pytest.mark.parametrize(
    ("node", "config"),
    [
        ({}, {"aggregation": "ring-hops"}),
        ({"aggregation": "k-secure"}, {"aggregation": "k-secure", "k": 2}),
        ({"aggregation": "ring"}, {"aggregation": "ring"}),
        ({"k": 4}, {"aggregation": "k-secure", "k": 4}),
        ({"k": 4}, {"aggregation": "k-secure", "k": 0}),
        ({"k": 4}, {"aggregation": "ring"}),
        ({"k": 40}, {"aggregation": "ring"}),
    ],
    ids=str,
)
def test_a_run_that_keeps_to_the_pins_is_accepted(node: dict[str, Scalar], config: dict[str, object]) -> None:
    assert hospital(node, **config).terms == make_settings(**config).terms  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("node", "config", "message"),
    [
        ({"aggregation": "k-secure"}, {"aggregation": "ring"}, "refuses the aggregation 'ring'.*'k-secure'"),
        ({"aggregation": "ring"}, {"aggregation": "plain"}, "refuses the aggregation 'plain'.*'ring'"),
        ({"aggregation": "plain"}, {"aggregation": "ring"}, "refuses the aggregation 'ring'.*'plain'"),
        (
            {"aggregation": "ring"},
            {"aggregation": "ring-hops"},
            "refuses the aggregation 'ring-hops'.*'ring'",
        ),
        ({"scaling": "none"}, {"scaling": "minmax"}, "refuses the scaling 'minmax'.*'none'"),
        ({"k": 4}, {"aggregation": "k-secure", "k": 3}, "refuses k=3.*at least 4"),
        ({"k": 33}, {"aggregation": "k-secure", "k": 0}, "refuses k=0.*at least 33"),
    ],
    ids=str,
)
def test_a_run_that_does_not_is_refused(
    node: dict[str, Scalar], config: dict[str, object], message: str
) -> None:
    with pytest.raises(SumError, match=f"Site 'north' {message}"):
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


@pytest.mark.parametrize("key", ["min_sites", "agregation", "Roster", "min-cluster ", "extreme", "clases"])
def test_a_misspelt_pin_is_an_error_and_not_ignored(key: str) -> None:
    with pytest.raises(SettingError, match=f"unknown key '{key}'"):
        hospital({key: 3})


@pytest.mark.parametrize("key", ["min-sites", "min-cluster", "k"])
def test_a_pin_that_is_no_number_is_an_error(key: str) -> None:
    with pytest.raises(SettingError, match=key):
        hospital({key: "three"}, aggregation="k-secure", k=2)


def test_a_hospital_asks_for_three_sites_unless_it_says_otherwise_whatever_the_run_says() -> None:
    assert hospital({}, min_sites=2).least_sites == 3
    assert hospital({}, min_sites=4).least_sites == 4
    assert hospital({"min-sites": 2}, min_sites=2).least_sites == 2
    assert own_hospital(SIMULATED_NODE, kind=SimulatedContext, min_sites=2).least_sites == 2
    assert hospital({}, min_sites=3).least_sites == 3
    assert hospital({"min-sites": 5}, min_sites=3).least_sites == 5
    assert hospital({"min-sites": 2}, min_sites=3).least_sites == 3


def test_patients_are_grouped_by_five_unless_the_hospital_says_otherwise() -> None:
    assert hospital({}, min_cluster=1).least_rows == 5
    assert hospital({"min-cluster": 8}, min_cluster=1).least_rows == 8
    assert hospital({"min-cluster": 1}).least_rows == 1
    assert own_hospital(SIMULATED_NODE, kind=SimulatedContext).least_rows == 1


@pytest.mark.parametrize("said", ["yes", "Agreed", 1, True, ""])
@pytest.mark.parametrize("consent", CONSENTS)
def test_a_hospital_agrees_by_one_word_only(consent: str, said: Scalar) -> None:
    with pytest.raises(SettingError, match=f"'north' has something else than 'agreed' for '{consent}'"):
        hospital({consent: said})


@pytest.mark.parametrize("consent", CONSENTS)
def test_what_is_not_agreed_to_is_not_disclosed(consent: str) -> None:
    with pytest.raises(SettingError, match=f"write {consent}='agreed' into the site's node config"):
        check_consents(hospital({"scaling": "minmax"}, scaling="minmax"), [consent])
    check_consents(hospital({consent: "agreed"}), [consent])
    check_consents(own_hospital(SIMULATED_NODE, kind=SimulatedContext), [consent])


def run(settings: Settings, grid: InProcessGrid) -> None:
    PanSVM(settings).start(grid)


@pytest.mark.parametrize(
    ("node", "config", "message"),
    [
        ({"aggregation": "k-secure"}, {}, "refuses the aggregation 'ring'"),
        ({"min-cluster": 5}, {"min_cluster": 4}, "refuses min-cluster=4"),
        (
            {"min-cluster": 20},
            {"min_cluster": 20, "test_fraction": 0.95},
            "too few rows: it trains on at least 20",
        ),
        ({"min-sites": 4}, {}, "at least 4"),
        ({"scaling": "minmax"}, {"scaling": "minmax"}, "does not disclose the smallest and largest cell"),
        ({"privacy": "perturbed", "noise": 0.5}, {}, "refuses noise=0.25"),
        (
            {"min-cluster": 5},
            {"probability": True, "cv_folds": 12},
            "too few rows for 12 folds: it wants at least 5",
        ),
    ],
    ids=str,
)
def test_whole_runs_are_refused_with_a_clear_error(
    node: dict[str, Scalar],
    config: dict[str, object],
    message: str,
    hospital_files: list[Path],
    hospitals: MakeGrid,
) -> None:
    settings = make_settings(**{"sites": 3, **config})  # type: ignore[arg-type]
    with pytest.raises(PanSVMError, match=message):
        run(settings, hospitals(settings, hospital_files, node))
