"""The result files of benchmarks, for the tables and plots of pages."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

ROOT = Path(__file__).parents[1]

EXACT, NOISES = "exact", ("perturbed, noise 0.25", "perturbed, noise 0.5")
"""Names of levels in results."""

SHORT = ("`exact`", "0.25", "0.5")
"""Their names in the columns of tables: level `exact`, and each noise of level `perturbed`."""


class Measured(NamedTuple):
    """The result file of a benchmark."""

    name: str
    commit: str
    date: str
    machine: dict[str, Any]
    versions: dict[str, str]
    tables: dict[str, list[dict[str, Any]]]

    def frame(self, table: str) -> pd.DataFrame:
        """Return a table of the file."""
        return pd.DataFrame(self.tables[table])

    def origin(self) -> str:
        """Return file, date, commit and machine of the figures on one line."""
        load = self.machine["load"][1]
        return (
            f"`results/{self.name}.json`: {self.date[:10]}, commit {self.commit[:8]}, {self.machine['cores']} cores "
            f"(load {load}), Python {self.versions['python']}."
        )


def result(name: str, folder: Path = ROOT / "results") -> Measured:
    """Return the result file of a benchmark."""
    content = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return Measured(name, *(content[key] for key in ("commit", "date", "machine", "versions", "tables")))


def by_level(known: Measured, table: str = "levels") -> pd.DataFrame:
    """Return a table of a result with `SHORT` names in ``level``."""
    frame = known.frame(table)
    return frame.assign(
        level=frame["noise"].map(dict(zip((0.25, 0.5), SHORT[1:], strict=True))).fillna(SHORT[0])
    )
