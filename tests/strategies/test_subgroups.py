"""How good a model is for subgroups: the counts of all rows in one place, no small group, and no lost model."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.rows import Rows
from clients.site import Site
from clients.systems.evaluation import subgroups
from flower_pansvm.errors import SettingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.models.model import load_model
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.multiclass import one_versus_one
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from flower_pansvm.systems.evaluation import SubgroupsQuestion
from flower_pansvm.table_schema import TableColumn
from simulations.data.pooling import pooled
from strategies.app import run
from strategies.federation.checks import AggregateResult
from strategies.pan_svm.strategy import PanSVM
from strategies.report.page import write_report
from strategies.report.shares import share_of_group
from strategies.settings import make_settings
from strategies.steps.subgroups import REST, by_subgroups, groups_by, wrong_counts
from tests.clients.fake_site import FakeSite
from tests.command_line import finished
from tests.conftest import MakeGrid, kept_rows, write_hospitals

COLUMN = "mean radius"
MODEL = PanSVC.from_parts(
    Schema(("age", "dose"), ("0", "1")),
    Scaling(np.zeros(2), np.zeros(2), np.ones(2)),
    NystromMap(Kernel("rbf", 0.3), np.eye(2), np.eye(2)),
    np.array([[1.0, -1.0, 0.0]]),
    one_versus_one(2),
)


@pytest.mark.parametrize("strategy", ["pan-svm", "mixture", "svm-rfe"])
def test_in_a_simulation_counts_are_those_of_all_rows_in_one_place(strategy: str, tmp_path: Path) -> None:
    few = {"features": "2", "step": "0.5", "landmarks": "20"}
    quick: dict[str, Any] = few if strategy == "svm-rfe" else {}
    result = finished(tmp_path / "out", strategy=strategy, privacy="exact", by=f"{COLUMN}:13,16", **quick)
    settings = make_settings(strategy=strategy, privacy="exact", sites=3, **quick)
    pool, model = pooled(settings), load_model(tmp_path / "out" / "model.npz")
    places = [pool.schema.columns.index(name) for name in model.schema_.columns]
    names = list(model.schema_.columns)
    predicted = model.predict(pd.DataFrame(pool.test.X[:, places], columns=names))
    said = np.array([pool.schema.classes.index(str(one)) for one in predicted])
    radius = pool.test.X[:, pool.schema.columns.index(COLUMN)]
    found = {one["name"]: one["confusion"] for one in result["subgroups"]["groups"]}
    ends = {"below 13": (0, 13), "13 to below 16": (13, 16), "16 or more": (16, np.inf)}
    for name, (low, high) in ends.items():
        own = (radius >= low) & (radius < high)
        counts = np.zeros((2, 2), dtype=int)
        np.add.at(counts, (pool.test.classes[own], said[own]), 1)
        assert found[name] == counts.tolist()
    assert np.sum(found[REST]) == 0
    page = write_report(tmp_path / "out").read_text()
    assert "For whom it is how good" in page
    assert "13 to below 16" in page


class CountingSite(FakeSite):
    """A hospital whose groups have to have five patients."""

    least_patients, level = 5, "exact"

    def require_same(self, *_: object) -> None:
        pass

    check_size = require_same


@pytest.mark.parametrize("level", ["exact", "perturbed"])
@given(ages=st.lists(st.integers(0, 99) | st.just(None), min_size=1, max_size=60), seed=st.integers(0, 99))
def test_no_group_of_a_hospital_is_of_fewer_than_five_patients(
    level: str, ages: list[int | None], seed: int
) -> None:
    """Of copies each row counts, or what is shown would tell which rows are of one patient."""
    generator = np.random.default_rng(seed)
    X = np.column_stack(
        [[np.nan if age is None else float(age) for age in ages], generator.normal(size=len(ages))]
    )
    patients = generator.integers(len(ages), size=len(ages))
    rows = Rows(X, generator.integers(2, size=len(ages)), patients=patients)
    question = SubgroupsQuestion(
        np.frombuffer(MODEL.to_bytes(), np.uint8), features=("age",), cuts=np.array([30.0, 60.0])
    )
    site = CountingSite(rows, 2, columns=("age", "dose"))
    site.level = level
    whose = patients if level == "exact" else np.arange(len(ages))
    answer = subgroups(cast(Site, site), question)
    counts = answer.confusion.sum(axis=(1, 2))
    group = np.where(np.isnan(X[:, 0]), 3, np.searchsorted([30, 60], X[:, 0], side="right"))
    for number in range(3):
        enough = len(np.unique(whose[group == number])) >= 5
        assert counts[number] in (0, np.count_nonzero(group == number) if enough else 0)
    # All or nobody: what is left out of the groups is no difference to the whole test.
    assert counts.sum() in (0, len(ages))
    for number in range(3):
        own = (group == number) & (counts[number] > 0) & (level == "exact")
        by_patient = [np.bincount(rows.classes[own & (patients == one)], minlength=2) for one in {*patients}]
        assert np.array_equal(answer.products[number], sum(np.outer(one, one) for one in by_patient))


@pytest.mark.parametrize(("many", "visits"), [(8, 25), (20, 10), (60, 1)])
def test_the_interval_of_a_group_is_by_its_own_patients(many: int, visits: int) -> None:
    """With one design effect of all test rows 61 to 87 % of the intervals of such groups held."""
    generator, value, held, times = np.random.default_rng(3), 0.8, 0, 400
    products = {"patient_products": [[0, 0], [0, many * visits**2]]}
    result = {"patient_id": "pid", "subgroups": {"groups": [products]}}
    for _ in range(times):
        right = visits * int(np.count_nonzero(generator.random(many) < value))
        found = share_of_group(result, products, [1], right, many * visits - right)
        assert found is not None
        held += found.low <= value <= found.high
    assert held / times > 0.93


@given(
    whose=st.lists(st.integers(0, 5), min_size=1, max_size=30),
    changed=st.sampled_from([(0, 0, -1), (0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, -1), (1, 1, 1)]),
    by=st.integers(1, 2**40),
)
def test_products_that_no_patients_have_are_refused(
    whose: list[int], changed: tuple[int, int, int], by: int
) -> None:
    """Too small a product would make an interval too narrow, too large a one too wide."""
    classes = np.arange(len(whose)) % 2
    counts = np.array([np.bincount(np.array(whose)[classes == label], minlength=6) for label in range(2)]).T
    products = (counts.T @ counts).astype(float)
    confusion = np.zeros((2, 2, 2))
    confusion[0, :, 1] = counts.sum(axis=0)

    def problems(products: np.ndarray) -> list[str]:
        sums = {"confusion": confusion, "products": np.stack([products, np.zeros((2, 2))])}
        request = SimpleNamespace(rows=None)
        return list(wrong_counts(AggregateResult(cast(Any, request), sums, ("a",))))

    assert problems(products) == []
    assert problems(np.zeros((2, 2))) == []  # of copies
    row, column, sign = changed
    wrong = products.copy()
    wrong[row, column] = sign * by + (len(whose) ** 2 if sign > 0 else 0)
    assert len(problems(wrong)) == 1


@pytest.mark.parametrize(
    "by", ["radius:1", COLUMN, f"{COLUMN}:2,1", f"{COLUMN}:nan", f"{COLUMN}:", ":3", "sex=a:1,b"]
)
def test_groups_that_there_are_not_are_refused(by: str) -> None:
    with pytest.raises(SettingError):
        groups_by(by, [COLUMN, "sex=a", "sex=b"], [])


def test_categories_and_yes_no_columns_are_their_own_groups() -> None:
    described = [TableColumn("sex", "category", categories=("f", "m")), TableColumn("smoker", "yes/no")]
    features = ["sex=f", "sex=m", "smoker", "a:b"]
    assert groups_by("sex", features, described).names == ("f", "m", REST)
    assert groups_by("smoker", features, described).cuts == (0.5,)
    assert groups_by("a:b:3", features, described).column == "a:b"


@pytest.mark.parametrize("values", [{"strategy": "local-only"}, {"test_fraction": 0.0}])
def test_runs_without_such_counts_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        make_settings(by="age:1", **values)


@pytest.mark.parametrize("agreed", [True, False])
def test_a_hospital_has_to_agree_and_a_refusal_loses_no_model(
    agreed: bool, hospitals: MakeGrid, tmp_path: Path
) -> None:
    settings = make_settings(sites=3, min_cluster=2, by="age:0", privacy="exact")
    node = {"privacy": "exact", **({"subgroups": "agreed"} if agreed else {})}
    grid = hospitals(settings, write_hospitals(tmp_path, 300), node)
    run(grid, settings, tmp_path / "out")
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert (tmp_path / "out" / "model.npz").exists()
    assert ("subgroups" in result) == agreed


def test_a_second_kind_of_groups_in_a_run_is_refused(hospitals: MakeGrid, tmp_path: Path) -> None:
    """Two kinds would tell of the records between them."""
    settings = make_settings(sites=3, min_cluster=2, by="age:0", privacy="exact")
    grid = hospitals(settings, write_hospitals(tmp_path, 300), {"privacy": "exact", "subgroups": "agreed"})
    strategy = PanSVM(settings)
    strategy.start(grid)
    before = replace(strategy.outcome, figures={})
    federation = strategy.federation
    assert by_subgroups(federation, before).figures == {"subgroups": strategy.outcome.figures["subgroups"]}
    federation.settings = replace(settings, by="age:1")
    assert by_subgroups(federation, before) == before


def test_by_site_each_hospitals_counts_are_its_own_and_a_small_one_shows_none(
    hospitals: MakeGrid, tmp_path: Path
) -> None:
    settings = make_settings(sites=3, min_cluster=5, by="site", privacy="exact")
    files = write_hospitals(tmp_path, 300)
    small = pd.read_csv(files[0])
    small.groupby("label").head(8).to_csv(files[0], index=False)
    node = {"privacy": "exact", "subgroups": "agreed", "min-cluster": 5}
    run(hospitals(settings, files, node), settings, tmp_path / "out")
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    found = {one["name"]: np.sum(one["confusion"]) for one in result["subgroups"]["groups"]}
    tested = {file.stem: int(np.count_nonzero(kept_rows(file))) for file in files}
    assert found == {**{name: count if count >= 5 else 0 for name, count in tested.items()}, REST: 0}
    assert 0 < tested[files[0].stem] < 5
