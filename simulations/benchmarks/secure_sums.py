"""The benchmark of the secure sums: ``python -m simulations.benchmarks.secure_sums --out DIR``.

It writes ``sums.csv`` with every figure, ``figures.md`` with the tables of ``docs/secure-sums.md``, and
``secure-sums.png``. All sites run in this process; what waiting for messages costs is in the number of round trips.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from simulations.benchmarks import parts, sum_costs, tables
from simulations.markdown import machine
from strategies.pan_svm_settings import PanSvmSettings

SITES = (3, 5, 10, 20)
LENGTHS = (100, 1_000, 10_000, 100_000, 1_000_000)
MASKED_SITES = (5, 20)


def main(
    out: Annotated[Path, typer.Option(help="Folder for the figures.")],
    quick: Annotated[bool, typer.Option(help="Few and short sums, to see that all works.")] = False,
) -> None:
    """Measure what the secure sums cost."""
    settings = PanSvmSettings(sites=3, tol=0.1, landmarks=10) if quick else PanSvmSettings()
    sites, lengths = (SITES[:2], LENGTHS[:2]) if quick else (SITES, LENGTHS)
    repeats = 1 if quick else 5
    out.mkdir(parents=True, exist_ok=True)

    costs = sum_costs.measure(sites, lengths, repeats, _show)
    tables.write_sums_csv(costs, out / "sums.csv")
    tables.plot(costs, sites=5, values=lengths[len(lengths) // 2], file=out / "secure-sums.png")
    _show("masking")
    masking = {count: parts.masking(lengths[-1], count, 3 * repeats) for count in MASKED_SITES}
    _show("packing")
    packing = parts.packing(lengths[len(lengths) // 2], repeats)
    _show("whole runs")
    runs = parts.whole_runs(settings, repeats, 2048 if quick else 3072)
    sections = [
        machine() + "\n",
        tables.sums_markdown(costs),
        tables.masking_markdown(masking, lengths[-1]),
        tables.packing_markdown(packing),
        tables.runs_markdown(runs, settings.data),
    ]
    (out / "figures.md").write_text("\n".join(sections), encoding="utf-8")
    _show(f"The figures are in {out}: figures.md, sums.csv, secure-sums.png")


def _show(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    typer.run(main)
