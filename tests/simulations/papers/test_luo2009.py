"""The figures of Luo et al. 2009: what they declare fits together, and experiments give what the cells name."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simulations.papers.data import PREPARED
from simulations.papers.luo2009.sets import at_sites
from simulations.papers.reproduction import all_reproductions
from simulations.papers.run import WEAK_MIXTURES, Run, execute

LUO = [name for name in all_reproductions() if name.startswith("luo-")]


def test_every_figure_is_there() -> None:
    assert set(LUO) == {"luo-table-2", *(f"luo-figure-{number}" for number in range(4, 17))}


@pytest.mark.parametrize("name", LUO)
def test_every_run_has_settings_that_work_and_says_what_stands_in(name: str) -> None:
    what = all_reproductions()[name]()
    plan = what.plan(what.quick_repeats)
    runs = {run for cell in plan.values() for run in cell}
    for run in runs:
        assert run.settings("iris").strategy == "mixture"
        assert run.config["data"] in PREPARED
        assert run.strategy.startswith(WEAK_MIXTURES)
        assert run.command == ""
    assert runs <= {run for cell in what.plan(what.repeats).values() for run in cell}
    assert what.said
    assert "lost" in " ".join(what.substituted)


def test_the_sites_have_half_three_tenths_and_a_fifth_of_the_rows() -> None:
    table = pd.DataFrame({"x": np.arange(5000.0), "label": 0})
    shares = at_sites(table)["site"].value_counts(normalize=True)
    np.testing.assert_allclose(shares[[0, 1, 2]], (0.5, 0.3, 0.2), atol=0.03)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("luo-table-2", marks=pytest.mark.slow),
        pytest.param("luo-figure-4", marks=pytest.mark.slow),
        "luo-figure-7",
        "luo-figure-10",
    ],
)
def test_an_experiment_finds_what_the_cells_name(kind: str, tmp_path: Path) -> None:
    """On small clouds in place of the paper's data."""
    generator = np.random.default_rng(0)
    y = generator.integers(2, size=180)
    which = generator.integers(3, size=180)
    X = generator.normal(size=(180, 2)) + np.column_stack([6.0 * which, 5.0 * y])
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(label=y, site=np.arange(180) % 3)
    frame.to_csv(tmp_path / "clouds.csv.gz", index=False)
    what = all_reproductions()[kind]()
    plan = {place: runs[0] for place, runs in what.plan(1).items()}
    strategy = next(iter(plan.values())).strategy
    items = {
        "strategy": strategy,
        "data": "clouds",
        "seed": 0,
        "split": "by:site",
        "sites": 3,
        "risk-bounds": "1",
    }
    found = execute(Run(tuple(sorted(items.items()))), tmp_path, tmp_path)
    numbers = [what.measure(place, found) for place in plan]
    assert None not in numbers
    assert np.isfinite(np.array(numbers, dtype=float)).all()
