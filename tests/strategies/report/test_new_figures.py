"""What a run writes down for its report agrees with what it has always written down."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.metrics import SMALLEST
from simulations.data.sites import join_data
from tests.command_line import finished


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the result of a run on a table with a constant column and a site with one class."""
    folder = tmp_path_factory.mktemp("run")
    generator = np.random.default_rng(0)
    files = []
    for number in range(3):
        ill = np.zeros(40, dtype=int) if number == 2 else np.arange(40) % 2
        rows = pd.DataFrame({"age": generator.normal(size=40) + 2 * ill, "dose": 3.0, "ill": ill})
        files.append(str(folder / f"{number}.csv"))
        rows.to_csv(files[-1], index=False)
    return finished(
        folder / "out", data=join_data(files), label="ill", privacy="exact", probability=True, cv_folds=2
    )


@pytest.mark.slow
def test_counts_add_up(result: dict[str, Any]) -> None:
    confusion = np.array(result["confusion"])
    assert confusion.sum() == result["rows_test"]
    assert np.trace(confusion) / confusion.sum() == pytest.approx(result["accuracy"])
    assert sum(result["rows_train_by_class"]) == result["rows_train"]
    assert result["rows_train_by_class"][1] + confusion[1].sum() == 40
    assert result["count_noise"] == 0


@pytest.mark.slow
def test_groups_hold_all_test_patients_and_are_not_small(result: dict[str, Any]) -> None:
    (groups,) = result["decision_groups"]
    confusion = np.array(result["confusion"])
    assert [sum(group[part] for group in groups) for part in ("others", "of_class")] == confusion.sum(
        axis=1
    ).tolist()
    assert min(group["others"] + group["of_class"] for group in groups) >= SMALLEST
    probabilities = [group["probability"] for group in groups]
    assert probabilities == sorted(probabilities)
    assert 0 < probabilities[0] < probabilities[-1] < 1


def test_phases_add_up(result: dict[str, Any]) -> None:
    for kind in ("round_trips", "bytes_up", "bytes_down"):
        assert sum(phase[kind] for phase in result["phases"].values()) == result[kind]


def test_what_is_odd_about_the_tables_is_found(result: dict[str, Any]) -> None:
    assert result["constant_columns"] == ["dose"]
    assert result["sites_with_one_class"] == ["site-002"]
    assert result["site_names"] == ["site-000", "site-001", "site-002"]


@pytest.mark.slow
def test_noisy_counts_say_how_noisy_they_are(tmp_path: Path) -> None:
    two = finished(tmp_path / "two", data="breast_cancer", strategy="dp-svm", epsilon=4.0)
    assert two["count_noise"] > 0.5
    assert np.array(two["confusion"]).shape == (2, 2)
    assert (two["wrong_and_right"], two["rows_train_by_class"]) == (None, None)
    (groups,) = two["decision_groups"]
    assert all(group["others"] >= 0 and group["of_class"] >= 0 for group in groups)
    assert {group["probability"] for group in groups} == {None}, "asked for no probabilities"
    assert sum(group["others"] + group["of_class"] for group in groups) == pytest.approx(
        two["rows_test"], abs=12 * len(groups) * two["count_noise"]
    )
