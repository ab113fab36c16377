"""What benchmarks have written, for the tables and plots of pages."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

ROOT = Path(__file__).parents[1]

EXACT, NOISES = "exact", ("perturbed, noise 0.25", "perturbed, noise 0.5")
"""What levels are called in results."""


class Result(NamedTuple):
    """What a benchmark has written."""

    name: str
    commit: str
    date: str
    machine: dict[str, Any]
    versions: dict[str, str]
    tables: dict[str, list[dict[str, Any]]]

    def frame(self, table: str) -> pd.DataFrame:
        """Return one of the tables."""
        return pd.DataFrame(self.tables[table])

    def origin(self) -> str:
        """Return a line that says where the figures come from."""
        load = self.machine["load"][1]
        return (
            f"`results/{self.name}.json`: {self.date[:10]}, commit {self.commit[:8]}, {self.machine['cores']} cores "
            f"(load {load}), Python {self.versions['python']}."
        )


def result(name: str, folder: Path = ROOT / "results") -> Result:
    """Return the result file of a benchmark."""
    found = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return Result(name, *(found[key] for key in ("commit", "date", "machine", "versions", "tables")))
