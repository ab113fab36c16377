"""A model of a run at level perturbed, tested on hospitals' true records: near the truth, charged, and refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clients.ledger.ledger import read_ledger
from clients.site import Site
from flower_pansvm.errors import BudgetError, PanSVMError, SettingError
from flower_pansvm.models.model import load_model
from flower_pansvm.privacy.accountant import epsilon_of
from flower_pansvm.systems.evaluation import MODEL_TEST, ModelTestQuestion
from flower_pansvm.terms import Scalar
from simulations.attack.audit import audit
from simulations.engines.in_process import in_process_grid
from strategies.app import run
from strategies.federation.federation import Federation
from strategies.pan_svm.strategy import PanSVM
from strategies.report.page import headline, write_report
from strategies.results import records_of_test
from strategies.settings import make_settings
from strategies.steps.joining import join
from strategies.steps.private_tests import TRUE_RECORDS
from tests.conftest import MakeGrid, kept_rows, write_hospitals

EPSILON = 4.0
NODE: dict[str, Scalar] = {
    "epsilon": EPSILON,
    "delta": 1e-5,
    "classes": "0,1",
    "privacy": "perturbed",
    "noise": 0.5,
    "weak-models": "agreed",
}
QUICK: dict[str, Any] = {"sites": 3, "noise": 0.5, "test_epsilon": EPSILON, "min_cluster": 2}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Tables of three hospitals with 400 test records each, in which some copies are on the wrong side."""
    return write_hospitals(tmp_path, 6000, noise=0.1)


def result_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "result.json").read_text()))


@pytest.mark.parametrize("strategy", ["pan-svm", pytest.param("mixture", marks=pytest.mark.slow)])
def test_hospitals_count_true_records_and_charge_it(
    strategy: str, files: list[Path], hospitals: MakeGrid, tmp_path: Path, state_home: Path
) -> None:
    settings = make_settings(strategy=strategy, **QUICK)
    grid, folder = hospitals(settings, files, NODE), tmp_path / "out"
    run(grid, settings, folder)
    result, model = result_of(folder), load_model(folder / "model.npz")
    test = pd.concat([pd.read_csv(file)[kept_rows(file)] for file in files])
    truth = float(np.mean(model.predict(test[["age", "dose"]]) == test["label"]))
    told = result["test_on_true_records"]
    assert result["tested_on"] == TRUE_RECORDS
    assert 0 < told["accuracy_noise"] < 0.005
    assert result["accuracy"] == pytest.approx(truth, abs=6 * told["accuracy_noise"])
    # Copies are farther from the truth than the noise of the test.
    assert told["accuracy_of_copies"] < truth - 0.02
    assert "true_accuracy" not in told
    assert result["count_noise"] > 0
    # Where decision values are counted at all: of PAN-SVM.
    assert (result["auc"] is None) == (strategy == "mixture")
    for file in files:
        ledger = read_ledger(state_home / f"site-{file.stem}")
        assert [(one.task, one.rows) for one in ledger.charges] == [(MODEL_TEST.name, "test")]
        assert epsilon_of(ledger.spent("test"), 1e-5) == pytest.approx(EPSILON, abs=1e-6)
    # A second run is charged anew: there is nothing left, and what it says is of the copies.
    again = hospitals(settings, files, NODE, run_id=2)
    run(again, settings, tmp_path / "again")
    second = result_of(tmp_path / "again")
    assert second["tested_on"] == "perturbed records"
    assert second["accuracy"] == pytest.approx(told["accuracy_of_copies"], abs=0.05)
    assert "test_on_true_records" not in second


@pytest.mark.parametrize(
    ("left_out", "values"), [("epsilon", {}), ("identity", {}), ("classes", {}), ("", {"colluders": 0})]
)
def test_a_hospital_that_cannot_give_it_says_so_as_it_joins(
    left_out: str, values: dict[str, Any], files: list[Path], hospitals: MakeGrid, tmp_path: Path
) -> None:
    settings = make_settings(**QUICK, **values)
    grid = hospitals(settings, files, NODE)
    for context in grid._contexts.values():
        context.node_config.pop(left_out, None)
    with pytest.raises(PanSVMError):
        run(grid, settings, tmp_path / "out")
    assert {reply.metadata.message_type for reply in grid.replies} == {"query.join"}


@pytest.mark.parametrize(
    "values",
    [
        *({"privacy": "exact"}, {"test_fraction": 0}, {"test_epsilon": 20.5}),
        *({"strategy": name} for name in ("dp-svm", "svm-ensemble", "local-only", "random-kernel")),
    ],
    ids=str,
)
def test_runs_for_which_there_is_no_such_test_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="test-epsilon"):
        make_settings(**{"test_epsilon": 1.0, **values})


def test_who_has_not_asked_for_it_on_joining_gets_copies_only(
    files: list[Path], hospitals: MakeGrid, monkeypatch: pytest.MonkeyPatch, state_home: Path
) -> None:
    """Whatever a coordinator asks: without a charge no true record is looked at, and none can be charged."""
    settings = make_settings(**{**QUICK, "test_epsilon": 0.0})
    levels: list[str] = []
    test = Site.test
    monkeypatch.setattr(Site, "test", lambda site: levels.append(site.level) or test(site))
    grid = hospitals(settings, files, NODE)
    strategy = PanSVM(settings)
    strategy.start(grid)
    assert records_of_test(strategy.federation) == "perturbed records"
    assert set(levels) == {"perturbed"}
    assert strategy.outcome.model is not None
    question = ModelTestQuestion(0.01, np.frombuffer(strategy.outcome.model.to_bytes(), np.uint8))
    with pytest.raises(BudgetError):
        strategy.federation.secure_sum(MODEL_TEST, question)
    assert set(levels) == {"perturbed"}
    assert all(read_ledger(state_home / f"site-{file.stem}").charges == () for file in files)


def test_a_coordinator_that_asks_again_pays_again(
    files: list[Path], hospitals: MakeGrid, state_home: Path
) -> None:
    settings = make_settings(**QUICK)
    federation = Federation(hospitals(settings, files, NODE), settings)
    join(federation, settings)
    trained = PanSVM(make_settings(data="breast_cancer", sites=3))
    trained.start(in_process_grid(trained.settings))
    assert trained.outcome.model is not None
    other = ModelTestQuestion(0.01, np.frombuffer(trained.outcome.model.to_bytes(), np.uint8))
    with pytest.raises(PanSVMError):  # of other columns
        federation.secure_sum(MODEL_TEST, other)
    assert read_ledger(state_home / f"site-{files[0].stem}").spent("test") == 0.01


def test_in_a_simulation_the_true_figures_stand_beside(tmp_path: Path) -> None:
    values: dict[str, Any] = {"data": "iris", "audit": True, "out": str(tmp_path)}
    exact = make_settings(data="iris", out=str(tmp_path / "exact"))
    run(in_process_grid(exact), exact, tmp_path / "exact")
    settings = make_settings(test_epsilon=20.0, **values)
    run(in_process_grid(settings), settings, tmp_path)
    result, before = result_of(tmp_path), result_of(tmp_path / "exact")
    assert result["test_on_true_records"]["true_accuracy"] == before["accuracy"]
    assert result["model_sha256"] == before["model_sha256"]
    assert before["tested_on"] == "true records"
    assert result["confusion"] is None
    assert len(result["wrong_and_right"]) == 3
    assert headline(result)["true test accuracy (simulation only)"] == f"{before['accuracy']:.4f}"
    assert MODEL_TEST.name not in audit(settings, tmp_path).not_examined
    assert "simulation only" in write_report(tmp_path).read_text()
