"""Measure runs with many rows, with many sites, and with sites that fall silent.

    python -m simulations.benchmarks.scale --out figures
    python -m simulations.benchmarks.scale --out figures --only rows

Every run has a process of its own. Rows for each site are the same however many sites there are, so that the work of a
site is the same. Writes ``scale.json`` and ``scale.md`` and shows the tables.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from flower_pansvm.terms import Scalar
from simulations.benchmarks.sizes import Size, in_new_process
from simulations.markdown import machine, markdown

Run = Mapping[str, Scalar]

AT_A_SITE: Run = {"landmarks": 100, "features": 10}
ROWS_AT_A_SITE = 200
PROTOCOLS = ("ring", "k-secure")

RUNS: Mapping[str, Sequence[Run]] = {
    "rows": [
        {"rows": rows, "sites": 10, "landmarks": 200, "features": 20} for rows in (1_000_000, 10_000_000)
    ],
    "sites": [
        {**AT_A_SITE, "rows": ROWS_AT_A_SITE * sites, "sites": sites, "aggregation": protocol}
        for protocol in PROTOCOLS
        for sites in (10, 50, 200, 1000)
    ],
    "silence": [
        {
            **AT_A_SITE,
            **{"rows": ROWS_AT_A_SITE * 200, "sites": 200, "aggregation": protocol},
            **{"silent": silent, "timeout": 0.05},
        }
        for protocol in PROTOCOLS
        for silent in (0.0, 0.05)
    ],
}


def table_of(runs: Sequence[Run], sizes: Sequence[Size]) -> str:
    """Return a Markdown table with a line for each run."""
    lines = [
        [
            f"{size.rows:,}",
            f"{size.sites:,}",
            str(run.get("aggregation", "ring")),
            str(size.lost),
            f"{size.processor_seconds:.0f}",
            f"{size.seconds:.0f}",
            f"{size.peak_gigabytes:.2f}",
            str(size.round_trips),
            f"{1e3 * size.processor_seconds / size.sites / size.round_trips:.1f}",
            f"{1e3 * size.seconds / size.sites / size.round_trips:.1f}",
            f"{1e3 * size.megabytes / size.sites / size.round_trips:.0f}",
            f"{1e3 * size.cut_megabytes / size.sites / size.cut_rounds:.0f}",
            f"{100 * size.accuracy:.2f}",
        ]
        for run, size in zip(runs, sizes, strict=True)
    ]
    header = ["rows", "sites", "protocol", "silent", "processor s", "s", "peak GB", "round trips"]
    header += ["processor ms a site and round trip", "ms a site and round trip"]
    header += ["KB a site and round trip", "KB a site and round of cuts"]
    return markdown([*header, "accuracy, %"], lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write what was measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for scale.json and scale.md")
    parser.add_argument("--only", choices=list(RUNS), nargs="*", default=list(RUNS), help="what to measure")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[Size]] = {}
    parts = []
    for what in options.only:
        found[what] = []
        for run in RUNS[what]:
            found[what].append(in_new_process(run))
            sys.stderr.write(f"{what}: {found[what][-1]}\n")
        parts.append(f"{what.capitalize()}:\n\n{table_of(RUNS[what], found[what])}")
    text = "\n".join([*parts, machine()])
    named = {what: [size._asdict() for size in sizes] for what, sizes in found.items()}
    (options.out / "scale.json").write_text(json.dumps(named, indent=2) + "\n", encoding="utf-8")
    (options.out / "scale.md").write_text(text + "\n", encoding="utf-8")
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
