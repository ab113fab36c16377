"""One run of a comparison: the figures are those of the run alone."""

import pytest

from simulations.comparison.run import Case, line_of, run_case, settings_of
from simulations.comparison.workers import attempt
from simulations.engines.in_process import train_in_process
from strategies.registry import STRATEGIES
from strategies.results import describe
from strategies.settings import make_settings
from tests.simulations.comparison.conftest import COMMON, plan


def case_of(strategy: str, data: str = "breast_cancer", sites: int = 5, **varied: str) -> Case:
    common = {**COMMON, "sites": sites}
    settings = {key.replace("_", "-"): (value,) for key, value in varied.items()}
    (case,) = plan(
        data=(data,), strategies=(strategy,), repeats=1, seed=3, common=common, varied=settings
    ).cases()
    return case


def test_a_strategys_line_has_the_figures_of_its_result() -> None:
    line = run_case(case_of("svm-ensemble", data="iris", C="4"))
    settings = make_settings(strategy="svm-ensemble", data="iris", C=4.0, seed=3)
    result = describe(train_in_process(settings), settings)
    figures = [
        "accuracy",
        "balanced_accuracy",
        "f1",
        "auc",
        "round_trips",
        "bytes_up",
        "bytes_down",
        "rows_test",
    ]
    assert {name: line[name] for name in figures} == {name: result[name] for name in figures}
    assert line["disclosed"].startswith("held_out: rows; join: ")


def test_all_are_compared_at_one_level_but_for_those_that_have_one_of_their_own() -> None:
    cases = (
        case_of("pan-svm", data="iris", privacy="exact"),
        case_of("local-only", data="iris", noise="0.5"),
        case_of("central:svc", data="iris", privacy="exact"),
    )
    exact, copied, central = (line_of(case, run_case(case)) for case in cases)
    assert (exact["level"], copied["level"], central["level"]) == ("exact", "perturbed, noise 0.5", "")
    assert settings_of(case_of("dp-svm", privacy="exact")).level == "dp"
    assert line_of(cases[1], {"error": "it failed"})["level"] == "perturbed, noise 0.5"
    # The same test rows at every level, so that figures can be compared.
    assert exact["rows_test"] == copied["rows_test"] == central["rows_test"]


def test_every_system_has_the_rows_to_train_that_a_test_over_repeats_asks_for() -> None:
    names = ("local-only", "svm-ensemble", "central:tree")
    cases = [*(case_of(name) for name in names), case_of("dp-svm", privacy="exact")]
    sizes = {(line["rows_train"], line["rows_test"]) for line in map(run_case, cases)}
    assert len(sizes) == 1, "dp-svm counts its rows with noise"
    assert sum(*sizes) == 569


def test_a_baseline_reads_the_settings_of_pan_svm_and_takes_no_round_trip() -> None:
    plain, poor = (
        run_case(case_of("central:nystroem", data="iris", landmarks=count)) for count in ("60", "1")
    )
    assert plain["accuracy"] > poor["accuracy"]
    assert (plain["round_trips"], plain["disclosed"], plain["converged"]) == (0, "all rows", True)


def test_an_error_that_nobody_foresaw_is_one_of_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(STRATEGIES["local-only"], "fit", fail)
    assert attempt(run_case, case_of("local-only")) == {"error": "RuntimeError: out of luck"}


def test_of_two_classes_the_positive_one_is_named() -> None:
    for strategy in ("local-only", "central:tree"):
        lines = [run_case(case_of(strategy, data=data)) for data in ("breast_cancer", "iris")]
        assert [line["positive_class"] for line in lines] == ["malignant", None]
