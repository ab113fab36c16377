"""What a comparison consists of, and what is refused before its first run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.errors import PanSVMError, SettingError
from simulations.cli.compare import CompareCommand
from simulations.cli.options import SettingsCommand
from simulations.comparison.plan import BY_FILE
from strategies.local_only import LocalOnly
from strategies.registry import STRATEGIES
from tests.simulations.comparison.conftest import COMMON, plan


def test_a_case_for_each_combination_and_a_baseline_once_for_all_secure_sums() -> None:
    cases = plan(
        data=("iris", "wine"),
        splits=("iid", "dirichlet:1"),
        aggregations=("ring", "k-secure"),
        strategies=("local-only", "central:nystroem"),
        varied={"C": ("1", "10"), "landmarks": ("20",)},
        seed=7,
    ).cases()
    # data x splits x C x repeats x (two secure sums, and the baseline)
    assert len(cases) == len(set(cases)) == 2 * 2 * 2 * 2 * 3
    assert {case.aggregation for case in cases if case.strategy == "central:nystroem"} == {""}
    assert {(case.repeat, case.seed) for case in cases} == {(0, 7), (1, 8)}
    assert {case.settings for case in cases} == {"C=1", "C=10"}
    for case in cases:
        assert case.config["seed"] == case.seed
        assert f"C={case.config['C']}" == case.settings
        # local-only has no landmarks, so that the setting is none of its.
        assert ("landmarks" in case.config) == (case.strategy == "central:nystroem")


def test_the_number_of_sites_can_be_compared() -> None:
    several = plan(varied={"sites": ("3", "6")})
    assert several.check() == ["iris: a class has as few as 9 test rows: figures are uncertain"]
    assert plan(data=("breast_cancer",)).check() == []
    assert {case.config["sites"] for case in several.cases()} == {"3", "6"}


def test_data_of_a_file_for_each_site_are_dealt_out_by_file(hospital_files: list[Path]) -> None:
    data = "|".join(map(str, hospital_files))
    by_file = plan(data=(data, "iris"), splits=("iid", "dirichlet:1"), common={**COMMON, "sites": 4})
    splits = {(case.data, case.split) for case in by_file.cases()}
    assert splits == {(data, BY_FILE), ("iris", "iid"), ("iris", "dirichlet:1")}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"splits": ("dirichlet:1",)}, "no split of --splits applies"),
        ({"varied": {"sites": ("7",)}}, r"sites is 7, but .* has 3"),
        ({"varied": {"sites": ("3", "5")}}, r"sites is 5, but .* has 3"),
        ({"varied": {"noise": ("0.5", "1")}, "common": {**COMMON, "privacy": "exact"}}, "level perturbed"),
        ({"varied": {"test-fraction": ("0.5",)}, "leave_out": True}, "all rows of a site"),
    ],
)
def test_an_option_that_would_change_no_figure_is_refused(
    changes: dict[str, Any], told: str, hospital_files: list[Path]
) -> None:
    of_files = plan(data=("|".join(map(str, hospital_files)),), strategies=("pan-svm", "central:svc"))
    with pytest.raises(SettingError, match=told):
        replace(of_files, **changes).check()


def test_a_table_under_two_names_is_no_second_data_set(hospital_files: list[Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.csv"
    copy.write_bytes(hospital_files[0].read_bytes())
    with pytest.raises(SettingError, match="are the same data"):
        plan(data=(str(hospital_files[0]), str(copy))).check()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"strategies": ("pan-svn",)}, "Did you mean 'pan-svm'"),
        ({"strategies": ("central:svm",)}, "Did you mean 'central:svc'"),
        ({"strategies": ("local-only", "local-only")}, "twice"),
        ({"aggregations": ("rings",)}, "Did you mean 'ring'"),
        ({"splits": ("idd",)}, "Did you mean 'iid'"),
        ({"splits": ("dirichlet",)}, "dirichlet:A"),
        ({"splits": ("feature:petal",)}, "nearest column names"),
        ({"data": ("irys",)}, "Did you mean 'iris'"),
        ({"data": ("none.csv",)}, "no file 'none.csv'"),
        ({"varied": {"gama": ("1",)}}, "Did you mean 'gamma'"),
        ({"varied": {"landmarks": ("9",)}, "strategies": ("local-only",)}, "none of which is compared"),
        (
            {"varied": {"C": ("1", "2")}, "strategies": ("central:tree", "central:naive-bayes")},
            "none of which is compared",
        ),
        ({"varied": {"tol": (".1",)}, "strategies": ("central:svc",)}, "none of which is compared"),
        ({"varied": {"C": ("-1",)}}, "above 0"),
        ({"varied": {"C": ("1", "1")}}, "twice"),
        ({"varied": {"C": ("auto",)}, "strategies": ("pan-svm", "central:svc")}, "does not choose them"),
        ({"varied": {"kernel": ("linear",)}, "strategies": ("central:fourier",)}, "kernel rbf only"),
        ({"varied": {"split": ("iid",)}}, "--help"),
        ({"common": {**COMMON, "sites": 151}}, "151 sites"),
        ({"common": {**COMMON, "positive": "virginca"}}, "positive"),
    ],
)
def test_what_cannot_work_is_refused_before_the_first_run(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(PanSVMError, match=told):
        plan(**changes).check()


def test_a_set_that_is_not_in_the_folder_names_the_missing_file_and_where_it_is_described(
    tmp_path: Path,
) -> None:
    (tmp_path / "heart.csv.gz").touch()
    with pytest.raises(SettingError) as error:
        plan(data=("hart",), common={**COMMON, "data-dir": str(tmp_path)}).check()
    for words in ("hart.csv.gz", "Did you mean 'heart'", "docs/comparing.md"):
        assert words in str(error.value)


def test_a_site_without_rows_is_refused_and_one_of_a_single_class_is_noted(tmp_path: Path) -> None:
    data, classes = str(tmp_path / "few.csv"), ["a", "b"] * 12 + ["b"]
    values = np.random.default_rng(0).normal(size=len(classes))
    pd.DataFrame({"x": values, "label": classes}).to_csv(data, index=False)
    with pytest.raises(SettingError, match="26 sites"):
        plan(data=(data,), common={**COMMON, "sites": 26}).check()
    notes = plan(data=(data,), splits=("feature:x",), common={**COMMON, "sites": 12}, repeats=1).check()
    assert notes
    assert "of one class" in notes[0]


def test_a_strategy_for_two_classes_refuses_three(monkeypatch: pytest.MonkeyPatch) -> None:
    class TwoClasses(LocalOnly):
        several_classes = False

    monkeypatch.setattr(STRATEGIES, "data", {**STRATEGIES.data})
    STRATEGIES["two-classes"] = TwoClasses
    with pytest.raises(SettingError, match="positive"):
        plan(strategies=("local-only", "two-classes")).check()
    plan(strategies=("two-classes",), common={**COMMON, "positive": "setosa"}).check()


@pytest.mark.parametrize("others", [(), ("central:svc",), ("random-kernel", "central:svc")])
def test_blocks_of_columns_are_refused_for_a_strategy_that_needs_all_wherever_it_is_named(
    others: tuple[str, ...],
) -> None:
    by_columns = {"splits": ("checkerboard:2x2",), "repeats": 1, "common": {**COMMON, "positive": "setosa"}}
    with pytest.raises(SettingError, match="strategy local-only needs all columns"):
        plan(strategies=(*others, "local-only"), **by_columns).check()
    plan(strategies=("central:svc", "random-kernel"), **by_columns).check()


def test_the_help_says_the_level_that_a_comparison_has() -> None:
    def shown(command: type[SettingsCommand]) -> dict[str, object]:
        return {option.opts[0]: option.show_default for option in command(name="one").field_options()}

    assert (shown(CompareCommand)["--privacy"], shown(SettingsCommand)["--privacy"]) == ("exact", "auto")
