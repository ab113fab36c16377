"""The benchmarks run and count right; their times are figures for people and decide nothing here."""

import csv
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from flower_pansvm.errors import SumError
from simulations.benchmarks import (
    distorted_rows,
    flower_app,
    noise,
    parts,
    performance,
    secagg_plus,
    sizes,
    sum_costs,
    tables,
    turns,
)
from simulations.benchmarks.sum_costs import CHOICES, PLAIN, Bench, Cost, Variant
from strategies.settings import make_settings

RING = Variant("ring", "one-shot")
HOPS = Variant("ring", "hops")
K_SECURE = Variant("k-secure", "one-shot")
K_SECURE_HOPS = Variant("k-secure", "hops")
PAILLIER = Variant("paillier", "one-shot")


@pytest.fixture(scope="module")
def costs() -> list[Cost]:
    return sum_costs.measure(sites=(3,), lengths=(10, 100), repeats=2, show=lambda _: None)


@pytest.mark.slow
def test_round_trips_and_bytes_are_counted(costs: list[Cost]) -> None:
    longest = {cost.choice: cost for cost in costs if cost.values == 100}
    assert {choice: cost.round_trips for choice, cost in longest.items()} == {
        PLAIN: 1,
        RING: 1,
        HOPS: 1 + 3,
        K_SECURE: 1,
        K_SECURE_HOPS: 1 + 1 + (3 * 3 - 1),
        PAILLIER: 2,
    }
    one_vector = 8 * 100
    assert (
        longest[PLAIN].bytes_all == longest[RING].bytes_all == longest[K_SECURE].bytes_all == 3 * one_vector
    )
    # Three sealed vectors to the coordinator, the same three back to the sites, and the sum.
    assert longest[HOPS].bytes_all == 6 * (one_vector + 28) + one_vector


@pytest.mark.slow
def test_all_sums_are_timed(costs: list[Cost]) -> None:
    assert [(cost.choice, cost.values) for cost in costs] == [(c, n) for n in (10, 100) for c in CHOICES]
    assert all(cost.measured and cost.seconds > cost.site_seconds > 0 for cost in costs)


def test_sum_that_would_take_too_long_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sum_costs, "LONGEST_SECONDS", 0.0)
    monkeypatch.setattr(sum_costs, "CHOICES", (PLAIN, RING))
    first, _, estimate, _ = sum_costs.measure((3,), (10, 50), repeats=1, show=lambda _: None)
    assert first.measured
    assert not estimate.measured
    assert estimate.seconds == pytest.approx(5 * first.seconds)


def test_tasks_take_turns_after_a_warm_up_and_long_ones_are_done_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    took = {"a": 1.0, "b": 2.0, "long": 4.0}
    monkeypatch.setattr(
        "simulations.benchmarks.turns.time.process_time", lambda: sum(took[name] for name in done)
    )
    results = turns.take_turns({name: partial(done.append, name) for name in took}, repeats=3)
    assert {name: len(kept) for name, kept in results.items()} == {"a": 3, "b": 3, "long": 1}
    assert done[:3] == ["a", "b", "long"]
    assert [set(done[turn : turn + 2]) for turn in (3, 5, 7)] == [{"a", "b"}] * 3


def test_wrong_sum_is_an_error() -> None:
    bench = Bench(PLAIN, ("a", "b"))
    vectors = {"a": np.ones(3, np.uint64), "b": np.ones(3, np.uint64)}
    with pytest.raises(SumError, match="'plain' gave a wrong sum"):
        bench.run(vectors, np.ones(3, np.uint64))


@pytest.mark.slow
def test_tables_have_every_combination_and_say_what_was_not_run(costs: list[Cost], tmp_path: Path) -> None:
    skipped = Cost(PAILLIER, 3, 1000, 61.4, measured=False)
    costs = [*costs, *(Cost(choice, 3, 1000, 0.5, 0.1, 24_000, 1) for choice in CHOICES[:-1]), skipped]
    tables.write_sums_csv(costs, tmp_path / "sums.csv")
    with (tmp_path / "sums.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(CHOICES) * 3
    assert {row["seconds_to_plain"] for row in rows if row["protocol"] == "plain"} == {"1.0"}
    assert (rows[-1]["measured"], rows[-1]["round_trips"]) == ("False", "")

    text = tables.sums_markdown(costs)
    assert "not run, about 61 s" in text
    assert "Round trips, 100 values" in text
    tables.plot(costs, sites=3, values=10, file=tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_masking_and_packing_are_timed() -> None:
    seconds = parts.masking(values=1000, sites=3, repeats=2)
    assert set(seconds) == {"encode", "plain", "ring, one-shot", "k-secure, one-shot"}
    assert "| ring, one-shot | 3 |" in tables.masking_markdown({3: seconds}, 1000)
    packing = parts.packing(values=20, repeats=1)
    assert min(packing.packed_per_value, packing.loop_per_value, packing.preparation) > 0
    assert "a contribution of 20 values" in tables.packing_markdown(packing)


@pytest.mark.slow
def test_whole_runs_give_one_model_with_every_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "ONCE_SECONDS", 0.0)
    settings = make_settings(sites=3, tol=0.1, landmarks=10)
    runs = parts.whole_runs(settings, repeats=1, key_bits=2048)
    assert [run.choice for run in runs] == list(CHOICES)
    assert len({run.model_sha256 for run in runs}) == 1
    trips = {run.choice: run.round_trips for run in runs}
    assert (
        trips[RING] == trips[K_SECURE] == trips[PLAIN] < trips[PAILLIER] < trips[HOPS] < trips[K_SECURE_HOPS]
    )
    assert "| plain |" in tables.runs_markdown(runs, "breast_cancer")


@pytest.mark.slow
def test_legacy_secagg_plus_and_ours_add_up_the_same_vectors() -> None:
    figures = secagg_plus.measure(sites=3)
    assert all(len(seconds) == flower_app.SUMS for seconds in figures["seconds"].values())
    assert figures["errors"][flower_app.OURS] < 1e-14
    assert figures["errors"][flower_app.THEIRS] < 1e-3


def test_noise_is_timed_and_as_wide_as_it_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    noise.main(draws=20_000)
    rows = [
        line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines() if "discrete" in line
    ]
    assert len(rows) == len(noise.SAMPLERS) * len(noise.SCALES)
    for _, _, microseconds, found, exact in rows:
        assert float(microseconds) >= 0
        assert float(found) == pytest.approx(float(exact), rel=0.05)


def test_what_distorted_rows_give_away_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    distorted_rows.main(["iris"])
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == 4
    assert lines[-1].startswith("| iris | all |")
    # Undistorted rows are all found, and the map learned from a hundred of them is exact.
    X, y = np.random.default_rng(0).normal(size=(300, 4)), np.arange(300) % 2
    assert distorted_rows.known_patients(X, X, y, 0) == (1.0, 1.0)
    assert distorted_rows.near_by_pairs(X, 2.0 * X, 0) == 1.0
    assert distorted_rows.known_patients(X, X[::-1], y, 0)[0] < 0.5


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.slow
def test_all_contestants_train_on_the_same_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(performance, "ijcnn_like", partial(performance.ijcnn_like, rows=500))
    contest = performance.Contest(performance.ijcnn_like, 20, 32.0, 1 / 22)
    found = {who: enter(contest, tmp_path) for who, enter in performance.contestants().items()}
    assert all(entry.accuracy > 0.8 and entry.seconds > 0 for entry in found.values())
    assert {who for who, entry in found.items() if entry.megabytes} == {
        "federated, exact",
        "federated, private",
    }
    lines = performance.markdown_of(found).splitlines()
    assert len(lines) == 2 + len(found)
    assert "(1.00)" in lines[2], "the ratios are to the federated run with exact sums"


def test_one_size_is_measured_and_plotted(tmp_path: Path) -> None:
    size = sizes.run_one(rows=600, sites=3, landmarks=10, features=4, classes=3)
    assert (size.classes, size.cut_rounds > 0, size.megabytes > 0) == (3, True, True)
    sizes.plot({"classes": [size]}, tmp_path / "sizes.png")
    assert (tmp_path / "sizes.png").read_bytes().startswith(b"\x89PNG")
    assert "| 3 |" in sizes.markdown_of({"classes": [size]})
