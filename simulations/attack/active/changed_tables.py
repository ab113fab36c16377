"""A table that its hospital exports again, changed: a second copy is refused, or discloses no more than two draws."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from clients.table.table import LABEL
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import PanSVMError
from simulations.attack.active.hospitals import Hospitals, drawn_table
from simulations.attack.active.nearness import NOISE, asked_at
from simulations.attack.active.registry import Attempt, refusal

ROWS, PENDING = 200, 30
PILOTS = 30, 80, 120, 140, 160
NAME, ROW_ID = "first", "mrn"
OTHERS = {"second": 40, "third": 40}

EXACT, CHANCE = 0.001, 0.02
"""A guess is exact within this many deviations; so many of independent copies' differences are, at the most."""

NEAR, MOST_NEAR = 0.1, 0.25
"""The same of sums of differences, whose noise grows from record to record."""

CLIPPED = 0.6
"""Share of the noise that is left at the least: the first records may have two thirds of the table's deviation, and
copies are clipped at the ends of the column."""

ALONE = 0.9
"""Share of a copy's noise that is left; of the mean of two copies 0.7 are."""

NAMES = tuple(f"outcome {index}" for index in range(1, 9))
"""Further names of the label column."""


def change_unit(folder: Path) -> Attempt:
    """Count the cells of the column that are reconstructed exactly."""
    table = _with_ids(_table())
    copies, why = _copies(folder, [table, table.assign(x0=table["x0"] * 0.95)], row_id=ROW_ID)
    guesses = (copies[0][0] - copies[1][0]) / 0.05 if len(copies) == 2 else None
    return _attempt(guesses, table["x0"], EXACT, CHANCE, why)


def move_ids(folder: Path) -> Attempt:
    """Count the cells of a column that are reconstructed but for a common shift."""
    table = _table()
    numbered = [_with_ids(export.reset_index(drop=True), "") for export in (table, table[1:])]
    copies, why = _copies(folder, numbered, row_id=ROW_ID)
    guesses = None
    if len(copies) == 2:
        first, second = copies[0][0], copies[1][0]
        # The noise of a copy that was clipped to an end differs: there the sum begins anew.
        ends = first[:-1].isin([first.min(), first.max()]) | second.isin([second.min(), second.max()])
        walk, pieces = (
            series.cumsum().shift(fill_value=0).reindex(first.index, method="ffill")
            for series in (second - first[:-1], ends)
        )
        guesses = walk + (first - walk).groupby(pieces).transform("mean")
    return _attempt(guesses, table["x0"], NEAR, MOST_NEAR, why)


def merge_sources(folder: Path) -> Attempt:
    """Compare the noise of the mean of a record's copies with that of one copy."""
    table = _with_ids(_table())
    again = _with_ids(table[: ROWS // 2], "Q")
    merged = pd.concat([table, again.assign(x1=1 - again["x1"])], ignore_index=True)
    copies, why = _copies(folder, [table, merged], row_id=ROW_ID)
    one, true = copies[0][0], table["x0"]
    means = copies[-1][0].groupby(lambda row: row % ROWS).mean()
    half = slice(ROWS // 2)
    noise = float(np.std((means - true)[half]) / np.std((one - true)[half]))
    return Attempt(f"{noise:.0%} of the noise of one copy{why}", f"at least {ALONE:.0%}", noise >= ALONE)


def rename_label(folder: Path) -> Attempt:
    """Compare the accuracy of the majority of copies' labels with that of one copy where it has a label."""
    table = _table()
    exports, generator = [], np.random.default_rng(1)
    for name in (LABEL, *NAMES):
        pending = generator.permutation(ROWS)[:PENDING]
        exports.append(table.assign(**{LABEL: table[LABEL].where(~table.index.isin(pending), 2)}))
        exports[-1] = exports[-1].rename(columns={LABEL: name})
    copies, why = _copies(folder, exports, labels=NAMES)
    right = [float((copy["label"].to_numpy() == table[LABEL].to_numpy()).mean()) for copy in copies]
    alone = float(np.mean(right)) * ROWS / (ROWS - PENDING)
    known = np.array([copy["label"] for copy in copies])  # 2 is pending
    most = (known == 1).sum(axis=0) > (known == 0).sum(axis=0)
    voted = float((most == table[LABEL].to_numpy()).mean())
    return Attempt(
        f"{voted:.0%} of the labels from {len(copies)} copies{why}",
        f"{alone:.0%}, as many as one copy has right",
        voted <= alone + CHANCE,
    )


def grow_pilot(folder: Path) -> Attempt:
    """Measure the noise of the whole table's copy, the least over the pilots."""
    table, noises, why = _with_ids(_table()), {}, ""
    nearest = np.argsort((table["x0"] - table["x0"].median()).abs())
    for pilot in PILOTS:
        exports = [table.iloc[np.sort(nearest[:pilot])], table]
        copies, refused = _copies(folder / str(pilot), exports, row_id=ROW_ID, go_on=True)
        why = why or refused
        if len(copies[-1]) == ROWS:
            noises[pilot] = float(np.std(copies[-1][0] - table["x0"]) / table["x0"].std())
    noise, least = min(noises.values(), default=np.inf), CLIPPED * NOISE
    return Attempt(f"noise of {noise:.2f} deviations{why}", f"at least {least:.2f}", noise >= least)


def _table() -> pd.DataFrame:
    return drawn_table(ROWS, NAME)


def _with_ids(table: pd.DataFrame, letter: str = "P") -> pd.DataFrame:
    """Return a table with ids in the order of the file, which is that of what systems see of it."""
    return table.assign(**{ROW_ID: [f"{letter}{index:05d}" for index in range(1, len(table) + 1)]})


def _copies(
    folder: Path,
    exports: Sequence[pd.DataFrame],
    *,
    row_id: str = "",
    labels: Sequence[str] = (),
    go_on: bool = False,
) -> tuple[list[pd.DataFrame], str]:
    """Return the copies of a hospital's table, export after export, until one is refused, and the reason.

    ``labels`` are names of the label column from the second export on. With ``go_on`` a refusal does not end it.
    """
    hospitals = Hospitals(folder, {NAME: ROWS, **OTHERS}, asked_at("perturbed"))
    node, copies, why = hospitals.nodes[NAME], [], ""
    schema = Path(str(node["schema"]))
    text = schema.read_text(encoding="utf-8")
    if row_id:
        node["row-id"] = row_id
    for index, table in enumerate(exports):
        named = f'label = "{labels[index - 1]}"\n' if labels and index else ""
        schema.write_text(named + text, encoding="utf-8")
        table.to_csv(str(node["data"]), index=False)
        try:
            copies.append(hospitals.copy_of(NAME))
        except PanSVMError as error:
            why = f"; {refusal(error)}"
            if not go_on:
                break
    return copies, why


def _attempt(
    guesses: "Floats | pd.Series[float] | None", true: "pd.Series[float]", near: float, most: float, why: str
) -> Attempt:
    """Return the share of a column's cells that are near their guesses, in its deviations; 0 without guesses."""
    share = 0.0 if guesses is None else float(np.mean(np.abs(guesses - true) < near * true.std()))
    return Attempt(
        f"{share:.0%} of the cells within {near:g} deviations{why}", f"at most {most:.0%}", share <= most
    )
