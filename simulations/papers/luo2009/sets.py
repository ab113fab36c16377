"""The data of Luo et al. 2009: four UCI sets, each at three sites of different sizes."""

import numpy as np
import pandas as pd

from flower_pansvm.terms import Scalar
from simulations.papers.data import PREPARED, Prepared
from simulations.papers.reproduction import Place, Reproduction
from simulations.papers.run import WEAK_MIXTURES, Result, Run, make_run

DATA = {"Letter": "letter", "Pen": "pendigits", "Satimage": "satimage", "Spam": "spambase"}
SHARES = (0.5, 0.3, 0.2)
MOST_ROWS = 6000
SUBSTITUTED: tuple[str, ...] = (
    "All formulas and numbers of the paper's text are lost, Table 1 with its test environments too: what is said of a "
    "figure is what the sentences around it say. Formulas are reconstructed, as their docstrings say.",
    f"Three sites with 50, 30 and 20 % of the rows (no shares are stated), at most {MOST_ROWS} rows, a quarter of them "
    "for the test. Covariances are full with 16 features or fewer, else diagonal.",
    "The two private sets of images (blood, regions of faces) are not to be had.",
)


def some(table: pd.DataFrame) -> pd.DataFrame:
    """Return some rows of a table, drawn at random."""
    return table.iloc[np.random.default_rng(2009).permutation(len(table))[:MOST_ROWS]]


def at_sites(table: pd.DataFrame) -> pd.DataFrame:
    """Return the same rows, each with the number of its site."""
    rows = some(table)
    return rows.assign(site=np.random.default_rng(2009).choice(len(SHARES), len(rows), p=SHARES))


for _name in DATA.values():
    PREPARED.register(f"{_name}-some")(Prepared((_name,), some))
    PREPARED.register(f"{_name}-at-three")(Prepared((_name,), at_sites))


def experiment(kind: str, data: str, seed: int, split: str = "by:site") -> Run:
    """Return the run of an experiment of `simulations.papers.luo2009.experiments`."""
    values: dict[str, Scalar] = {"seed": seed, "split": split, "sites": 3, "test_fraction": 0.25}
    name = f"{DATA[data]}-{'at-three' if split == 'by:site' else 'some'}"
    return make_run(WEAK_MIXTURES + kind, name, **values, risk_bounds="1")


class LuoReproduction(Reproduction):
    """Base of all: a row a data set, and of each cell the entry of the result that is named like its column."""

    substituted = SUBSTITUTED
    repeats, quick_repeats = 3, 1

    def measure(self, place: Place, result: Result) -> float | None:
        """Return the entry that the column names."""
        found = result.get(place[1])
        return None if found is None else float(found)
