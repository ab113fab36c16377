"""Labels by a coin and six visits a patient: what is reported is what new patients get, at every level."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.shares import share
from simulations.baselines.registry import BASELINES
from simulations.data.pooling import pooled
from simulations.engines.in_process import train_in_process
from simulations.federated_svc import FederatedSVC
from simulations.running import doubts_of
from strategies.report.page import headline
from strategies.results import describe
from strategies.settings import Settings, make_settings

COLUMNS = [*"abcdef"]
VISITS = 6


def visits(patients: int, seed: int, each: int = VISITS) -> pd.DataFrame:
    """Return rows whose features are their patient's own noise, and tell nothing of the label of another patient."""
    draw, whose = np.random.default_rng(seed), np.repeat(np.arange(patients), each)
    own = draw.normal(size=(patients, 6))[whose] + draw.normal(scale=0.15, size=(len(whose), 6))
    frame = pd.DataFrame(own.round(3), columns=COLUMNS)
    return frame.assign(mrn=[f"P{seed}-{one}" for one in whose], label=draw.integers(0, 2, patients)[whose])


@pytest.fixture
def data(tmp_path: Path) -> dict[str, Any]:
    columns = "".join(f"[columns.{one}]\nrange = [-9, 9]\n" for one in COLUMNS)
    (tmp_path / "schema.toml").write_text(f'classes = ["0", "1"]\npatient-id = "mrn"\n{columns}')
    for site in range(3):
        visits(60, site).sample(frac=1, random_state=site).to_csv(tmp_path / f"{site}.csv", index=False)
    files = "|".join(str(tmp_path / f"{site}.csv") for site in range(3))
    return {"data": files, "sites": 3, "schema": str(tmp_path / "schema.toml")}


def reported(settings: Settings) -> dict[str, Any]:
    return describe(train_in_process(settings), settings)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        {"privacy": "exact", "C": 10.0},
        {"privacy": "perturbed", "C": 10.0},
        {"privacy": "exact", "C": (1.0, 10.0), "gamma": (0.1, 1.0)},
        {"strategy": "dp-svm", "epsilon": 8.0},
        {"strategy": "dp-svm", "epsilon": 8.0, "rows_per_patient": 3},
        {"strategy": "local-only", "privacy": "exact", "C": 10.0},
    ],
    ids=str,
)
def test_what_is_reported_is_what_new_patients_get(how: dict[str, Any], data: dict[str, Any]) -> None:
    """A split of rows reported 93 %."""
    found = reported(make_settings(**{"strategy": "pan-svm", **data, **how}))
    low, high = found["accuracy_interval"]
    assert low <= 0.5 <= high
    assert found["positive_class"] == "1"
    assert found["patient_id"] == "mrn"
    if how.get("strategy", "pan-svm") == "pan-svm":
        assert (
            found["patients_train"] + found["patients_test"],
            found["rows_train"] + found["rows_test"],
        ) == (180, 1080)
        # Those of rows that count as independent ones would be half as wide, or less.
        naive = share(found["accuracy"] * found["rows_test"], (1 - found["accuracy"]) * found["rows_test"])
        assert naive is not None
        assert high - low > 1.5 * (naive.high - naive.low)


@pytest.mark.slow
def test_a_baseline_is_split_as_the_federation_is(data: dict[str, Any]) -> None:
    settings = make_settings(strategy="pan-svm", privacy="exact", C=10.0, **data)
    pool = pooled(settings)
    assert not set(pool.train.patients.tolist()) & set(pool.test.patients.tolist())
    assert len(pool.test.classes) == reported(settings)["rows_test"]
    right = BASELINES["central:svc"](settings, pool.train, pool.test).evaluation.accuracy
    assert right is not None
    # 36 patients of the test, six standard deviations.
    assert abs(right - 0.5) < 6 * 0.5 / np.sqrt(36)


@pytest.mark.slow
def test_groups_of_an_estimator_are_patients() -> None:
    """Chosen by folds of rows, the narrowest kernel wins, as it knows a patient again."""
    frame = visits(60, 7)
    frame["a"] += 0.8 * frame["label"]
    X, y, groups = frame[COLUMNS].to_numpy(), frame["label"].to_numpy(), frame["mrn"].to_numpy()
    exact = {"privacy": "exact", "landmarks": 180, "min_cluster": 1}
    model = FederatedSVC(C=10.0, gamma=(0.02, 1.0), sites=3, random_state=0, **exact)
    by_rows = model.fit(X, y).model_.feature_map_.kernel.gamma
    by_patients = model.fit(X, y, groups=groups).model_.feature_map_.kernel.gamma
    assert (by_rows, by_patients) == (1.0, 0.02)
    with pytest.raises(ValueError, match="groups"):
        model.fit(X, y, groups=groups[:-1])


def test_a_run_that_counts_no_patients_says_why(data: dict[str, Any]) -> None:
    found = headline(reported(make_settings(strategy="dp-svm", epsilon=8.0, **data)))
    assert found["patients trained on / tested on"] == "as many as rows: one row of each takes part"
    found = headline(reported(make_settings(strategy="pan-svm", privacy="exact", landmarks="10", **data)))
    assert found["patients trained on / tested on"] == "144 / 36"


def test_a_run_asks_about_a_patient_id_that_no_two_rows_have(data: dict[str, Any]) -> None:
    """Such as the row-id. Of one site alone it is no doubt."""
    sources = data["data"].split("|")
    assert not any("another text" in line for line in doubts_of(make_settings(**data)))
    for source in sources:
        frame = pd.read_csv(source)
        frame.assign(mrn=[f"row {one}" for one in range(len(frame))]).to_csv(source, index=False)
        asked = [line for line in doubts_of(make_settings(**data)) if "another text" in line]
        assert len(asked) == (source == sources[-1])


@pytest.mark.parametrize(("sites", "level", "warned"), [(5, "auto", 0), (10, "auto", 1), (10, "exact", 0)])
def test_sites_too_small_for_a_copy_are_told_of(sites: int, level: str, warned: int) -> None:
    told = doubts_of(make_settings(data="wine", sites=sites, privacy=level))
    assert sum("fewer than 30 records" in line for line in told) == warned


@pytest.mark.parametrize("of_codes", [False, True])
def test_patients_in_several_files_are_asked_about_unless_rows_are_alike_by_chance(
    tmp_path: Path, of_codes: bool
) -> None:
    draw = np.random.default_rng(0)
    drawn = draw.integers(2, size=(3, 60, 3)) if of_codes else draw.normal(size=(3, 60, 3))
    if not of_codes:
        drawn[1, :20] = drawn[0, 20:40]
    for site, cells in enumerate(drawn):
        frame = pd.DataFrame(cells, columns=["age", "dose", "pulse"]).assign(label=[0, 1] * 30)
        # Sites need not write their columns in one order.
        frame[frame.columns[:: 1 - 2 * (site == 1)]].to_csv(tmp_path / f"{site}.csv", index=False)
    files = "|".join(str(tmp_path / f"{site}.csv") for site in range(3))
    told = [line for line in doubts_of(make_settings(data=files, sites=3)) if "another file" in line]
    assert [line.startswith("20 of 180 rows") for line in told] == [True] * (not of_codes)


def test_a_researchers_rows_may_be_there_twice_at_level_perturbed(tmp_path: Path) -> None:
    for site in range(3):
        own = visits(60, site, each=1).drop(columns="mrn")
        pd.concat([own, own]).to_csv(tmp_path / f"{site}.csv", index=False)
    files = "|".join(str(tmp_path / f"{site}.csv") for site in range(3))
    settings = make_settings(data=files, sites=3, privacy="perturbed", landmarks="10")
    assert train_in_process(settings).outcome.model is not None
