"""A system is tried on the rows of a site that took no part."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from flower_pansvm.errors import SettingError
from simulations.comparison.left_out import check_left_out, names_of
from simulations.comparison.run import run_case
from tests.command_line import Run
from tests.simulations.comparison.conftest import plan


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Three hospitals, the first of which has other patients."""
    table = load_breast_cancer(as_frame=True).frame.rename(columns={"target": "label"})
    table = table.sort_values("mean radius", ignore_index=True)
    parts = [table[::4], table[1::2], table[2::4]]
    paths = [tmp_path / f"{name}.csv" for name in ("north", "south", "west")]
    for part, path in zip(parts, paths, strict=True):
        part.to_csv(path, index=False)
    return paths


@pytest.mark.parametrize("system", ["central:svc", "pan-svm", "fedavg:network"])
def test_what_the_others_train_is_tried_on_all_rows_of_the_one(system: str, files: list[Path]) -> None:
    made = replace(plan(data=("|".join(map(str, files)),), strategies=(system,), repeats=1), leave_out=True)
    made.check()
    cases = made.cases()
    assert [case.split for case in cases] == [
        "tested on north.csv",
        "tested on south.csv",
        "tested on west.csv",
    ]
    tables = [pd.read_csv(file) for file in files]
    for number, case in enumerate(cases):
        found = run_case(case)
        own = tables[number]
        others = pd.concat(tables[:number] + tables[number + 1 :])
        assert (found["rows_test"], found["rows_train"]) == (len(own), len(others))
        svc = make_pipeline(StandardScaler(), SVC(C=1.0)).fit(others.drop(columns="label"), others["label"])
        right = float(np.mean(svc.predict(own.drop(columns="label")) == own["label"]))
        assert found["accuracy"] == pytest.approx(right, abs=0 if system == "central:svc" else 0.06)
        assert found["auc"] > 0.95


@pytest.mark.parametrize("system", ["central:svc", "pan-svm", "fedavg:logistic"])
def test_a_class_that_only_the_left_out_site_has_is_told(system: str, files: list[Path]) -> None:
    other = pd.read_csv(files[0])
    other.loc[:9, "label"] = 2
    other.to_csv(files[0], index=False)
    made = replace(plan(data=("|".join(map(str, files)),), strategies=(system,), repeats=1), leave_out=True)
    without, *_ = made.cases()
    with pytest.raises(SettingError, match="only"):
        run_case(without)


@pytest.mark.usefixtures("_in_this_process")
def test_repeats_that_test_the_same_rows_are_no_resampling(
    files: list[Path], pansvm: Run, tmp_path: Path
) -> None:
    data = ("compare", "--data", "|".join(map(str, files)), "--strategies", "central:svc,central:tree")
    pansvm.output(*data, "--repeats", 5, "--leave-out", "--jobs", 1, "--out", tmp_path / "out")
    assert "over its repeats" not in (tmp_path / "out" / "comparison.html").read_text(encoding="utf-8")


def test_what_has_no_sites_or_no_model_is_refused() -> None:
    for data, systems in (
        ("iris", ("pan-svm",)),
        ("a|b", ("pan-svm",)),
        ("a|b|c", ("pan-svm", "local-only")),
    ):
        with pytest.raises(SettingError):
            check_left_out(data, systems)
    assert names_of("x/a.csv|y/a.csv|b.csv") == ["1: a.csv", "2: a.csv", "3: b.csv"]


@pytest.mark.slow
def test_the_command_has_a_line_for_each_hospital(files: list[Path], pansvm: Run) -> None:
    data = ("compare", "--data", "|".join(map(str, files)), "--strategies", "central:svc", "--repeats", 1)
    out = pansvm.output(*data, "--leave-out", "--jobs", 1, "--out", "out")
    assert out.count("tested on south.csv") >= 2
    assert "leave-out" not in pansvm.output(*data, "--jobs", 1, "--out", "whole")
