"""The benchmark of training: ``python -m simulations.benchmarks.training --data-dir DIR --out DIR``.

It writes ``figures.md`` with the tables of ``docs/training.md`` and its plots. All sites run in this process.
"""

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from simulations.benchmarks import accuracy, convergence, sizes
from simulations.benchmarks.paper_data import NINE
from simulations.engines.flower_log import quieter
from simulations.markdown import machine

CURVES: dict[str, dict[str, object]] = {
    "cod-rna.scaled": {"C": 32.0, "gamma": "0.5", "scaling": "none"},
    "letter": {"C": 10.0},
    "pendigits": {"C": 10.0},
}


def main(
    data_dir: Annotated[Path, typer.Option(help="Folder of data sets.")],
    out: Annotated[Path, typer.Option(help="Folder for the figures.")],
    only: Annotated[
        str, typer.Option(help="One part: convergence, accuracy, race, landmarks or sizes; all if left out.")
    ] = "",
    quick: Annotated[bool, typer.Option(help="Small sets only, to see that all works.")] = False,
) -> None:
    """Measure round trips, accuracy, time and memory of training."""
    out.mkdir(parents=True, exist_ok=True)
    parts: dict[str, Callable[[], str]] = {
        "convergence": lambda: _convergence(data_dir, out, quick),
        "accuracy": lambda: _accuracy(data_dir, quick),
        "race": lambda: accuracy.race_markdown(
            accuracy.race(data_dir, "a9a", 1.0, 0.05, 20 if quick else 300)
        ),
        "landmarks": lambda: _landmarks(data_dir, out, quick),
        "sizes": lambda: _sizes(out, quick),
    }
    chosen = [only] if only else list(parts)
    if not set(chosen) <= set(parts):
        raise typer.BadParameter(f"There is no part '{only}'. Choose one of: {', '.join(parts)}.")
    sections = [f"## {name}\n\n{parts[name]()}" for name in chosen]
    (out / "figures.md").write_text("\n".join([f"{machine()}\n", *sections]), encoding="utf-8")
    _show(f"The figures are in {out}")


def _convergence(data_dir: Path, out: Path, quick: bool) -> str:
    found = convergence.measure(data_dir, _show, NINE[-2:] if quick else NINE)
    convergence.plot(found, out / "convergence-presets.png")
    return convergence.markdown_of(found)


def _accuracy(data_dir: Path, quick: bool) -> str:
    return accuracy.folds_markdown(accuracy.five_folds(data_dir, _show, NINE[4:5] if quick else NINE))


def _landmarks(data_dir: Path, out: Path, quick: bool) -> str:
    names = {"letter": CURVES["letter"]} if quick else dict(CURVES)
    found = accuracy.landmark_curve(data_dir, _show, names, (10, 20) if quick else accuracy.LANDMARKS)
    accuracy.plot_curve(found, out / "accuracy-landmarks.png")
    return accuracy.curve_markdown(found)


def _sizes(out: Path, quick: bool) -> str:
    found = sizes.measure(_show, {"rows": (2_000, 4_000)} if quick else sizes.SERIES)
    sizes.plot(found, out / "training-sizes.png")
    return sizes.markdown_of(found)


def _show(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    with quieter(logging.WARNING):
        typer.run(main)
