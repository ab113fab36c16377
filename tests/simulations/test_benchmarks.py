"""The benchmarks run, count right and write one format; their times are figures for people and decide nothing here."""

import json
import os
import re
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer

from flower_pansvm.errors import EngineError, SumError
from simulations import figures, origin
from simulations.attack.active import levels
from simulations.benchmarks import (
    ablation,
    calibration,
    comparison,
    deployment,
    deployment_heart,
    faults,
    heterogeneity,
    hospitals,
    large_tables,
    level_costs,
    privacy,
    private_accuracy,
    rare_classes,
    results,
    scale,
    secagg,
    secure_sums,
    training,
)
from simulations.benchmarks.__main__ import NAMES
from simulations.benchmarks.__main__ import main as measure
from simulations.benchmarks.secure_sums import AGGREGATIONS, Bench
from simulations.comparison.plan import Plan
from simulations.engines.in_process import train_in_process
from simulations.origin import commit
from simulations.result_files import result
from strategies.registry import STRATEGIES
from strategies.settings import SEPARATOR, make_settings

NO_FOLDER = Path()
Lines = list[dict[str, Any]]


def here(work: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """Do in this process what a benchmark would do in a new one."""
    return work(*args, **kwargs)


def measured(module: Any, out: Path, data: Path | None = None) -> dict[str, Lines]:
    """Return the tables of a benchmark's file, made by its command."""
    name = module.__name__.rpartition(".")[2]
    measure(name, data, out)
    return tables_of(out / f"{name}.json")


def tables_of(file: Path) -> dict[str, Lines]:
    found = json.loads(file.read_text(encoding="utf-8"))
    assert set(found) == {"benchmark", "commit", "date", "machine", "versions", "tables"}
    assert file.name == f"{found['benchmark']}.json"
    tables: dict[str, Lines] = found["tables"]
    assert all(
        lines and all("seconds" not in line or line["seconds"] > 0 for line in lines)
        for lines in tables.values()
    )
    return tables


@pytest.fixture
def shorten(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that gives a benchmark other constants, and its functions other arguments."""

    def change(module: Any, arguments: dict[str, dict[str, Any]] | None = None, **constants: Any) -> None:
        for name, fewer in (arguments or {}).items():
            before = getattr(module, name)
            monkeypatch.setattr(module, name, partial(before, **fewer))
            for table in [table for table, lines in module.TABLES.items() if lines is before]:
                monkeypatch.setitem(module.TABLES, table, partial(before, **fewer))
        for name, value in constants.items():
            monkeypatch.setattr(module, name, value)

    return change


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write 600 rows of which two columns are 0 and 1."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((600, 5))
    X[:, :2] = X[:, :2] > 0
    label = (X[:, 0] + X[:, 2] > 0.5).astype(int)
    path = tmp_path / "rows.csv"
    pd.DataFrame(X, columns=list("abcde")).assign(label=label).to_csv(path, index=False)
    return path


def test_a_result_says_with_what_it_was_measured(tmp_path: Path) -> None:
    file = results.write_results("name", {"table": [{"accuracy": 0.5}]}, tmp_path / "results")
    found = json.loads(file.read_text(encoding="utf-8"))
    assert tables_of(file) == {"table": [{"accuracy": 0.5}]}
    assert found["versions"]["flwr"]
    assert found["machine"]["cores"] >= 1
    assert found["commit"] is None or len(found["commit"].removesuffix("-dirty")) == 40
    with pytest.raises(ValueError, match="JSON"):
        results.write_results("name", {"table": [{"accuracy": float("nan")}]}, tmp_path)


def test_there_is_no_commit_without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert commit() is None


def test_work_in_a_new_process_is_timed() -> None:
    total, used = results.timed(partial(sum, range(10)))
    assert total == 45
    assert used["seconds"] >= 0
    assert used["peak_gb"] > 0
    assert results.in_new_process(sum, range(10)) == 45


@pytest.mark.slow
def test_training(tmp_path: Path, shorten: Callable[..., None], shared_data: Path) -> None:
    smallest = training.NINE[-2:-1]
    shorten(training, {"rounds": {"sets": smallest}, "accuracies": {"sets": smallest, "seeds": [0]}})
    found = measured(training, tmp_path, shared_data)
    rounds = {line["search"]: line["rounds"] for line in found["rounds"]}
    assert rounds["fast"] < rounds["published"]
    assert {line["rank"] for line in found["rounds"]} == {12}
    assert [line["system"] for line in found["accuracy"]] == [*training.COMPARED, "central SVC"]
    assert all(0.7 < line["accuracy"] < 0.9 for line in found["accuracy"])


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.slow
def test_large_tables(tmp_path: Path, shorten: Callable[..., None]) -> None:
    small = large_tables.LargeTable({"landmarks": "20", "C": "32", "gamma": str(1 / 22)})
    few = {"write_ijcnn1_like": {"rows": 500}}
    shorten(large_tables, few, in_new_process=here, SETS={"small": small})
    lines = measured(large_tables, tmp_path, tmp_path)["contestants"]
    assert [line["system"] for line in lines] == list(large_tables.CONTESTANTS)
    assert [line["system"] for line in lines if line.get("megabytes_up", 0) > 0] == ["exact", "perturbed"]
    assert all(line["accuracy"] > 0.8 for line in lines)


@pytest.mark.slow
def test_large_tables_are_tested_on_their_own_test_rows(shared_data: Path) -> None:
    whole = large_tables.SETS["letter"]
    settings = make_settings(data="letter", data_dir=str(shared_data), test_fraction=0.0)
    rows = results.pool_of(settings, whole.test)
    assert (len(rows.train.X), len(rows.test.X)) == (15_000, 5_000)
    assert rows.test.X.shape[1] == rows.train.X.shape[1]


@pytest.mark.slow
def test_secagg(tmp_path: Path, shorten: Callable[..., None]) -> None:
    few = (("flower", 2.0**24), ("k-secure", 2.0**24), ("k-secure", secagg.FEW))
    two = {"kinds": ["FedAvg", "FedYogi"], "protocols": ["plain", "double-mask"]}
    shorten(secagg, {"equality": two}, in_new_process=here, COSTS={1000: few})
    found = measured(secagg, tmp_path)
    assert [line["bytes_up_per_site"] // 1000 for line in found["costs"]] == [4, 8, 4]
    assert all(line["same_bits"] and line["largest_difference"] < 1e-6 for line in found["equality"])
    opened = {line["protocol"]: line["opened"] for line in found["drop_outs"]}
    assert opened == {"ring": 0, "k-secure": 0, "double-mask": secagg.ROUNDS}
    for line in found["attacks"]:
        assert line["refused"] == (line["attack"] == "same sum again" or line["min_difference"] > 1)
        assert line["refused"] or line["examples_found"] == line["examples_of_site"]


@pytest.mark.slow
def test_scale(tmp_path: Path, shorten: Callable[..., None]) -> None:
    shorten(scale, in_new_process=here, ROWS=(600, 1200), SITES=(3, 6), ROWS_AT_A_SITE=100)
    found = measured(scale, tmp_path)
    asked = [(line["privacy"], line["rows"]) for line in found["rows"]]
    assert asked == [*product(("perturbed", "exact"), (600, 1200))]
    asked = [(line["aggregation"], line["sites"]) for line in found["sites"]]
    assert asked == [*product(scale.PROTOCOLS, (3, 6))]
    assert all(line["megabytes"] > 0 and line["round_trips"] > line["rounds"] > 0 for line in found["sites"])


@pytest.mark.slow
def test_secure_sums(tmp_path: Path, shorten: Callable[..., None]) -> None:
    shorten(secure_sums, {"sums": {"sites": (3,), "lengths": (10, 100), "repeats": 1}})
    found = measured(secure_sums, tmp_path)
    longest = {one["aggregation"]: one for one in found["sums"] if one["values"] == 100}
    assert list(longest) == [*AGGREGATIONS]
    assert [one["round_trips"] for one in longest.values()] == [1, 1, 1 + 3, 1, 2, 1 + 1 + (3 * 3 - 1), 2]
    sent = [one["bytes"] for one in longest.values()]
    one_vector = 8 * 100
    assert sent[0] == sent[1] == sent[3] == 3 * one_vector
    # Three sealed vectors to the coordinator, the same three back to the sites, and the sum.
    assert sent[2] == 6 * (one_vector + 28) + one_vector
    assert all(one["cpu_seconds"] > 0 for one in found["sums"])


def test_a_sum_that_would_take_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure_sums, "LONGEST_SECONDS", 0.0)
    found = list(secure_sums.sums((3,), (10, 50), 1, ("plain", "ring")))
    assert [one["values"] for one in found] == [10, 10]


def test_a_wrong_sum_is_an_error() -> None:
    vectors = {"a": np.ones(3, np.uint64), "b": np.ones(3, np.uint64)}
    with pytest.raises(SumError):
        Bench("plain", ("a", "b")).run(vectors, np.ones(3, np.uint64))


@pytest.mark.slow
def test_a_private_model_is_judged_without_the_noise_of_its_own_evaluation() -> None:
    found = private_accuracy.measure("breast_cancer", NO_FOLDER, "dp-svm", 20.0, seed=1)
    settings = make_settings(strategy="dp-svm", data="breast_cancer", epsilon=20.0, seed=1)
    strategy = train_in_process(settings)
    # The run's own figure has the noise of epsilon 20 in it.
    assert found == pytest.approx(strategy.outcome.evaluation.accuracy, abs=0.02)
    assert found * 114 == pytest.approx(round(found * 114))


def test_what_takes_hours_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def lines(data: str) -> list[dict[str, str]]:
        asked.append(data)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return [{"data": data}]

    monkeypatch.setattr(results, "COMMIT", "clean")
    monkeypatch.setattr(origin, "COMMIT", "clean")
    with pytest.raises(KeyboardInterrupt):
        results.in_parts("slow", "abc", lines, tmp_path)
    assert not (tmp_path / "slow.json").exists()
    assert [line["data"] for line in results.in_parts("slow", "abc", lines, tmp_path)] == ["a", "b", "c"]
    assert asked == ["a", "b", "b", "c"]
    monkeypatch.setattr(results, "COMMIT", "clean-dirty")
    monkeypatch.setattr(origin, "COMMIT", "clean-dirty")
    results.in_parts("slow", "a", lines, tmp_path)
    results.in_parts("slow", "a", lines, tmp_path)
    assert asked[4:] == ["a", "a"]
    results.write_results("slow", {}, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["slow.json"]


@pytest.mark.usefixtures("_in_this_process")
def test_private_accuracy(tmp_path: Path, shorten: Callable[..., None]) -> None:
    few = {"lines": {"epsilons": (1.0, 4.0), "seeds": (0, 1)}}
    shorten(private_accuracy, few, measure=lambda *given: 0.6 + 0.1 * given[-1])
    lines = measured(private_accuracy, tmp_path, NO_FOLDER)["models"]
    heart = [(line["method"], line["epsilon"]) for line in lines if line["data"] == "heart"]
    federated = [(method, epsilon) for method in private_accuracy.FEDERATED for epsilon in (1.0, 4.0)]
    assert heart == [*federated, (private_accuracy.EXACT, None), (private_accuracy.MAJORITY, None)]
    of_letter = {line["method"] for line in lines if line["data"] == "letter"}
    assert of_letter == {"dp-svm", private_accuracy.EXACT, private_accuracy.MAJORITY}
    assert all(line["accuracy"] == pytest.approx(0.65) and line["splits"] == 2 for line in lines)


def test_central_models() -> None:
    exact, majority = (
        private_accuracy.measure("breast_cancer", NO_FOLDER, method, 0.0, 0)
        for method in (private_accuracy.EXACT, private_accuracy.MAJORITY)
    )
    assert exact > 0.93
    assert majority == pytest.approx(357 / 569, abs=0.02)


@pytest.mark.parametrize(
    ("name", "attacker", "train", "test"),
    [
        ("svm-ensemble", privacy.SEMI_HONEST, 0, 122),
        ("random-kernel", privacy.NEIGHBOUR, 478, None),
        ("local-only", privacy.SEMI_HONEST, 0, 0),
        ("dp-svm, epsilon=1", privacy.SEMI_HONEST, 0, 0),
    ],
)
def test_records_that_are_known_to_be_reconstructed_are_counted(
    table: Path, name: str, attacker: str, train: int, test: int | None
) -> None:
    line = privacy.attacked(name, str(table), NO_FOLDER)
    assert (line["attacker"], line["train_exact"], line["test_exact"]) == (attacker, train, test)
    assert (line["train_rows"], line["test_rows"]) == (478, 122)


@pytest.mark.slow
def test_membership_shows_in_a_model_that_has_learned_rows_by_heart(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels are drawn: what a model says better of training rows than of others it knows by heart."""
    drawn = np.random.default_rng(1).integers(2, size=600)
    pd.read_csv(table).assign(label=drawn).to_csv(table, index=False)
    by_heart = {"privacy": "exact", "landmarks": "300", "min-cluster": 1, "gamma": "1", "C": "100"}
    areas = []
    for settings in (by_heart, {"strategy": "dp-svm", "privacy": "dp"}):
        system = privacy.System(settings, privacy.by_sums)
        monkeypatch.setitem(privacy.SYSTEMS, "this", system)
        (line,) = privacy.memberships("this", str(table), NO_FOLDER, seeds=[0])
        areas.append(line["area"])
    assert areas[0] > 0.65
    assert abs(areas[1] - 0.5) < 0.15  # five standard deviations of guesses


@pytest.mark.slow(minutes=1)
def test_privacy_compared(table: Path, tmp_path: Path, shorten: Callable[..., None]) -> None:
    tables = (str(table),)
    shorten(privacy, {"members": {"seeds": [0]}}, ATTACKED=tables, COMPARED=tables, MINUTES=0.01)
    shorten(privacy, lines=lambda data, _: [{"data": data}])
    found = measured(privacy, tmp_path, NO_FOLDER)
    assert [line.get("error") for line in found["attacks"]] == [None] * len(found["attacks"])
    assert {line["system"] for line in found["attacks"]} == set(privacy.SYSTEMS)
    without_model = {"svm-ensemble", "local-only"}
    assert {line["system"] for line in found["membership"]} == set(privacy.SYSTEMS) - without_model


@pytest.mark.slow(minutes=1)
def test_each_way_of_asking_gets_copies_at_level_perturbed(table: Path, shorten: Callable[..., None]) -> None:
    shorten(levels, MINUTES=0.01, RUNS_BY_SEED=3, MONTHS=3)
    # An attack asks the more the more records there are.
    pd.read_csv(table)[:300].to_csv(table, index=False)
    found = list(levels.lines(str(table), NO_FOLDER))
    assert [line.get("refused") for line in found] == [None] * len(found)
    ways = [line["how"] for line in found]
    assert ways == [*["run", "seeds", "months", "active"] * 3, "run"]
    exact, *perturbed, private = found[:4], found[4:8], found[8:12], found[12]
    assert [line["found"] for line in exact if line["how"] == "months"] == [3]
    assert private["found"] == 0
    for noise, lines in zip((0.25, 0.5), perturbed, strict=True):
        for line in lines:
            assert line["error"] > 0.8 * noise
            if line["found"]:
                assert line["found_distance"] > line["their_copies_distance"] - 0.05


def test_every_strategy_that_trains_on_rows_is_compared() -> None:
    compared = {str(one.settings.get("strategy", "pan-svm")) for one in privacy.SYSTEMS.values()}
    selections = {"voted-wrapper", "filter-wrapper", "svm-rfe", "rsvm", "svm-t"}
    # Exact sums as pan-svm's, to a coordinator that is trusted with them.
    release = {"private-svm", "hybrid-svm"}
    assert compared | selections | release == set(STRATEGIES)


@pytest.mark.slow
def test_comparison(tmp_path: Path, shorten: Callable[..., None]) -> None:
    two = ("pan-svm", "fedavg:logistic")
    shorten(comparison, {"lines": {"data": ("breast_cancer",), "strategies": two, "repeats": 1}})
    lines = measured(comparison, tmp_path, NO_FOLDER)["systems"]
    fair = ("pan-svm (exact)", "fedavg:logistic (true rows)")
    assert {(line["split"], line["system"]) for line in lines} == {*product(comparison.SPLITS, fair)}
    assert all(line["accuracy"] > 0.8 and line["failed"] == 0 for line in lines)


@pytest.mark.slow
def test_level_costs(tmp_path: Path, shorten: Callable[..., None]) -> None:
    shorten(level_costs, {}, AT_LEVELS={"breast_cancer": ("pan-svm",)}, REPEATS=1)
    lines = measured(level_costs, tmp_path, NO_FOLDER)["levels"]
    assert [(line["level"], line["noise"]) for line in lines] == [
        *(("exact", None), ("perturbed", 0.25), ("perturbed", 0.5))
    ]
    assert all(line["accuracy"] > 0.8 for line in lines)


@pytest.mark.slow
def test_hospitals(tmp_path: Path, shorten: Callable[..., None], shared_data: Path) -> None:
    two = ("pan-svm", "central:svc")
    shorten(hospitals, {"lines": {"strategies": two, "repeats": 1}})
    lines = measured(hospitals, tmp_path, shared_data)["left_out"]
    told = {(line["hospital"], line["system"], line["level"][:5]) for line in lines}
    of_copies = {(one, "pan-svm", "pertu") for one in hospitals.HOSPITALS}
    of_rows = {
        (one, name, level)
        for one in hospitals.HOSPITALS
        for name, level in zip(two, ("exact", ""), strict=True)
    }
    assert told == {*of_rows, *of_copies}
    assert all(line["auc"] > 0.6 and line["failed"] == 0 for line in lines)


@pytest.mark.slow
def test_ablation(tmp_path: Path, shorten: Callable[..., None]) -> None:
    shorten(ablation, {"lines": {"data": ("breast_cancer",), "repeats": 1}}, LANDMARKS=(5, 20))
    lines = measured(ablation, tmp_path, NO_FOLDER)["maps"]
    named = {line["system"] for line in lines}
    assert named == {*ablation.MAPS, *(f"pan-svm {changed}" for changed in ablation.CHANGED)}
    assert all(line["accuracy"] > 0.7 for line in lines if line["landmarks"] == 20)


@pytest.mark.slow
def test_heterogeneity(tmp_path: Path, shorten: Callable[..., None]) -> None:
    shorten(
        heterogeneity,
        {"lines": {"data": ("breast_cancer",), "repeats": 1}},
        SPLITS=("iid", "quantity:0.5:30"),
        STRATEGIES=("pan-svm", "fedavg:logistic"),
    )
    found = measured(heterogeneity, tmp_path, NO_FOLDER)["splits"]
    assert {(line["split"], line["system"]) for line in found} == {
        *product(heterogeneity.SPLITS, heterogeneity.STRATEGIES)
    }
    assert all(line["accuracy"] > 0.85 and line["failed"] == 0 for line in found)


@pytest.mark.slow
def test_calibration(tmp_path: Path, shorten: Callable[..., None]) -> None:
    shorten(calibration, {"lines": {"repeats": 2}}, DATA=("breast_cancer",))
    found = measured(calibration, tmp_path, tmp_path)["splits"]
    assert [(line["level"], line["noise"]) for line in found[::2]] == [
        ("exact", None),
        ("perturbed", 0.25),
        ("perturbed", 0.5),
    ]
    assert all(0 < line["brier"] < 0.15 for line in found)
    assert figures.calibrated(result("calibration", tmp_path)).count("breast_cancer") == 1


@pytest.mark.slow
def test_rare_classes(tmp_path: Path, shorten: Callable[..., None]) -> None:
    shorten(rare_classes, {"lines": {"repeats": 1}}, RARE={10: 1000})
    found = measured(rare_classes, tmp_path)["levels"]
    each = [("exact", None), ("perturbed", 0.25), ("perturbed", 0.5)]
    told = [(line["class_weight"], (line["level"], line["noise"])) for line in found]
    assert told == [*product(rare_classes.CLASS_WEIGHTS, each)]
    assert all(line["auc"] > 0.7 for line in found)


def heart_table(path: Path, rows: int = 80) -> None:
    """Write drawn rows of what a heart hospital measures, some cells of which are missing."""
    generator, ranges = np.random.default_rng(0), deployment_heart.RANGES.items()
    frame = pd.DataFrame({name: generator.integers(low, high + 1, rows) for name, (low, high) in ranges})
    frame["label"] = np.where(frame["age"] > 60, generator.integers(1, 5, rows), 0)
    frame.loc[:9, "ca"] = pd.NA
    frame.to_csv(path, index=False)


@pytest.mark.slow(minutes=2)
def test_deployment(tmp_path: Path, shorten: Callable[..., None]) -> None:
    only = {"dp-svm": deployment_heart.SYSTEMS["dp-svm"]}
    shorten(deployment_heart, {"lines": {"runs": 1}}, SYSTEMS=only)
    for hospital in deployment_heart.HOSPITALS:
        heart_table(tmp_path / f"heart-{hospital}.csv.gz")
    found = measured(deployment_heart, tmp_path, tmp_path)["runs"]
    assert [(line["system"], line["run"]) for line in found] == [("dp-svm", 1)]
    assert "`dp-svm`" in figures.deployment_heart(result("deployment_heart", tmp_path))
    shorten(deployment, {"lines": {"runs": 2}}, HOSPITALS=(3,))
    found = measured(deployment, tmp_path)["runs"]
    assert [line["run"] for line in found] == [1, 2]
    assert all(0 < line["waiting_a_trip"] < line["seconds_a_trip"] for line in found)
    assert "waiting" in figures.deployment(result("deployment", tmp_path))
    assert all(0 < line["server_cpu_a_trip"] < line["seconds"] and line["failed"] == 0 for line in found)
    assert all(0.05 < line["node_gb"] < 1 for line in found)
    assert all(0 < line["hospital_a_trip"] < line["waiting_a_trip"] for line in found)


@pytest.mark.slow(minutes=6)
def test_faults(tmp_path: Path, shorten: Callable[..., None]) -> None:
    # tests/deployment/test_recovery.py has the others.
    few, acts = ("clocks", "-9 of the SuperLink"), faults.FaultBench.acts
    shorten(
        faults.FaultBench,
        acts=lambda bench, stalls: [
            one for one in acts(bench, stalls) if one[0].endswith(few) or few[0] in one[0]
        ],
    )
    shorten(faults, RUNS={"a training after all of these": ""})
    found = measured(faults, tmp_path)["faults"]
    told = {line["fault"]: line for line in found}
    assert "by force" in told["kill -9 of the SuperLink"]["coordinator"]
    assert "clock" in told["the hospitals' clocks are an hour ahead"]["hospital"]
    counted = [line["ended_well"] for line in found if line["back_after"] is None]
    assert counted == [2, *([1, 1] if os.getuid() == 0 else []), 1]
    assert all(line["back_after"] < 180 for line in found if line["back_after"] is not None)
    assert "two runs at once" in figures.faults(result("faults", tmp_path))


def test_the_page_names_every_benchmark() -> None:
    page = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(\w+)`", page, re.MULTILINE)) == NAMES


@pytest.mark.parametrize("name", ["results", "__main__", "trainings"])
def test_what_is_no_benchmark_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="benchmark"):
        measure(name, out=tmp_path)


ON_A_CLUSTER = (
    *("ablation", "calibration", "comparison", "heterogeneity", "hospitals", "level_costs"),
    *("private_accuracy", "training"),
)


@pytest.mark.parametrize("name", ON_A_CLUSTER)
def test_many_trainings_run_on_a_cluster(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(works: list[Any], address: str, _: object) -> None:
        raise EngineError(f"{len(works)} works at {address}")

    monkeypatch.setattr("simulations.comparison.cluster.run_on_cluster", run)
    monkeypatch.setattr(Plan, "check", lambda _: [])
    monkeypatch.setattr("simulations.comparison.plan.join_data", lambda names, _: SEPARATOR.join(names))
    monkeypatch.delitem(training.TABLES, "rounds")
    with pytest.raises(EngineError, match=r"\d\d works at head:6379"):
        measure(name, tmp_path, tmp_path, "head:6379")


@pytest.mark.parametrize("name", sorted({*NAMES} - {*ON_A_CLUSTER}))
def test_what_is_of_this_machine_runs_on_no_cluster(name: str, tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match=rf"^{name} "):
        measure(name, tmp_path, tmp_path, "head:6379")
    assert not list(tmp_path.iterdir())
