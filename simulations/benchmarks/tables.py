"""The measured figures as CSV, Markdown and a plot."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from simulations.benchmarks.parts import Packing, TimedRun
from simulations.benchmarks.sum_costs import CHOICES, PLAIN, Cost, Variant
from simulations.markdown import markdown

Cells = dict[tuple[Variant, int, int], Cost]

COLOURS = {"plain": "#7f7f7f", "ring": "#1f77b4", "k-secure": "#2ca02c", "paillier": "#d62728"}
COLUMNS = (
    *("protocol", "execution", "sites", "values", "measured"),
    *("seconds", "seconds_to_plain", "site_seconds", "site_seconds_to_plain"),
    *("bytes", "bytes_to_plain", "bytes_per_site", "round_trips"),
)
DASHES = {"one-shot": "-", "hops": "--"}


def write_sums_csv(costs: Iterable[Cost], file: Path) -> None:
    """Write every figure of every sum; what was not measured is empty."""
    cells = _cells(costs)
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        for (choice, sites, values), cost in cells.items():
            plain = cells[PLAIN, sites, values]
            row: dict[str, object] = {
                "protocol": choice.aggregation,
                "execution": choice.execution,
                "sites": sites,
                "values": values,
                "measured": cost.measured,
                "seconds": cost.seconds,
                "seconds_to_plain": cost.seconds / plain.seconds,
            }
            if cost.measured:
                row |= {
                    "site_seconds": cost.site_seconds,
                    "site_seconds_to_plain": cost.site_seconds / plain.site_seconds,
                    "bytes": cost.bytes_all,
                    "bytes_to_plain": cost.bytes_all / plain.bytes_all,
                    "bytes_per_site": cost.bytes_all / sites,
                    "round_trips": cost.round_trips,
                }
            writer.writerow(row)


def sums_markdown(costs: Sequence[Cost]) -> str:
    """Return tables of the seconds of each sum, and of what else one costs at the longest vector all can do."""
    cells = _cells(costs)
    counts = sorted({cost.sites for cost in costs})
    lengths = sorted({cost.values for cost in costs})
    typical = max(
        values for values in lengths if all(cells[choice, counts[-1], values].measured for choice in CHOICES)
    )
    parts = []
    for count in counts:
        rows = [
            [choice.label, *(_seconds(cells, choice, count, values) for values in lengths)]
            for choice in CHOICES
        ]
        parts += [
            f"Processor time of a whole sum, {count} sites:\n",
            markdown(["values", *(f"{n:,}" for n in lengths)], rows),
        ]
    for title, figure in (
        ("Processor time of one site", _site_seconds),
        ("Kilobytes in all", _bytes),
        ("Kilobytes per site", _bytes_per_site),
        ("Round trips", _round_trips),
    ):
        rows = [
            [choice.label, *(figure(cells, choice, count, typical) for count in counts)] for choice in CHOICES
        ]
        parts += [f"{title}, {typical:,} values:\n", markdown(["sites", *map(str, counts)], rows)]
    return "\n".join(parts)


def masking_markdown(measured: Mapping[int, Mapping[str, float]], values: int) -> str:
    """Return a table of what one site's masking costs, as a multiple of its fixed-point encoding."""
    rows = []
    for sites, seconds in measured.items():
        encode = seconds["encode"]
        rows += [
            [label, str(sites), f"{1000 * encode:.1f}", f"{1000 * taken:.1f}", f"{taken / encode:.2f}"]
            for label, taken in seconds.items()
            if label != "encode"
        ]
    header = ["protocol", "sites", "encoding, ms", "contribution, ms", "ratio"]
    return f"One site, {values:,} values:\n\n{markdown(header, rows)}"


def packing_markdown(packing: Packing) -> str:
    """Return what one site's Paillier encryption costs."""
    rows = [
        ["a loop over phe's encrypt", f"{1e6 * packing.loop_per_value:,.0f}", "1"],
        [
            f"a contribution of {packing.values:,} values",
            f"{1e6 * packing.packed_per_value:,.0f}",
            f"{packing.loop_per_value / packing.packed_per_value:.0f}",
        ],
    ]
    header = ["Paillier, 3072 bits", "µs per value", "times faster"]
    note = f"Preparing a key's powers, once per key and process: {packing.preparation:.2f} s.\n"
    return f"{markdown(header, rows)}\n{note}"


def runs_markdown(runs: Sequence[TimedRun], data: str) -> str:
    """Return a table of whole training runs."""
    plain = next(run for run in runs if run.choice == PLAIN)
    rows = [
        [
            run.choice.label,
            f"{run.seconds:.1f} ({run.seconds / plain.seconds:.2f})",
            str(run.round_trips),
            f"{run.bytes_up / 1000:,.0f}",
            f"{run.bytes_down / 1000:,.0f}",
            run.model_sha256[:12],
        ]
        for run in runs
    ]
    header = ["protocol", "processor seconds (to plain)", "round trips", "KB up", "KB down", "model_sha256"]
    return f"Whole runs on {data} in process:\n\n{markdown(header, rows)}"


def plot(costs: Iterable[Cost], sites: int, values: int, file: Path) -> None:
    """Plot seconds against length for one number of sites, and against sites for one length."""
    measured = [cost for cost in costs if cost.measured]
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for choice in CHOICES:
        style = {
            "label": choice.label,
            "color": COLOURS[choice.aggregation],
            "linestyle": DASHES[choice.execution],
            "marker": "o",
            "markersize": 4,
        }
        by_length = [cost for cost in measured if cost.choice == choice and cost.sites == sites]
        left.plot([cost.values for cost in by_length], [cost.seconds for cost in by_length], **style)
        by_sites = [cost for cost in measured if cost.choice == choice and cost.values == values]
        right.plot([cost.sites for cost in by_sites], [cost.seconds for cost in by_sites], **style)
    left.set(title=f"{sites} sites", xlabel="values", xscale="log", yscale="log")
    left.set_ylabel("processor seconds of one sum, all sites")
    right.set(title=f"{values:,} values", xlabel="sites", yscale="log")
    right.set_xticks(sorted({cost.sites for cost in measured}))
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center", frameon=False)
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=130)


def _cells(costs: Iterable[Cost]) -> Cells:
    return {(cost.choice, cost.sites, cost.values): cost for cost in costs}


def _seconds(cells: Cells, choice: Variant, sites: int, values: int) -> str:
    cost, plain = cells[choice, sites, values], cells[PLAIN, sites, values]
    if not cost.measured:
        return f"not run, about {cost.seconds:.0f} s"
    return _with_ratio(cost.seconds, plain.seconds, _time(cost.seconds))


def _site_seconds(cells: Cells, choice: Variant, sites: int, values: int) -> str:
    seconds = cells[choice, sites, values].site_seconds
    return _with_ratio(seconds, cells[PLAIN, sites, values].site_seconds, _time(seconds))


def _bytes(cells: Cells, choice: Variant, sites: int, values: int) -> str:
    sent = cells[choice, sites, values].bytes_all
    return _with_ratio(sent, cells[PLAIN, sites, values].bytes_all, f"{sent / 1000:,.0f}")


def _bytes_per_site(cells: Cells, choice: Variant, sites: int, values: int) -> str:
    return f"{cells[choice, sites, values].bytes_all / sites / 1000:,.0f}"


def _round_trips(cells: Cells, choice: Variant, sites: int, values: int) -> str:
    return str(cells[choice, sites, values].round_trips)


def _with_ratio(figure: float, plain: float, text: str) -> str:
    ratio = figure / plain
    return f"{text} ({ratio:.1f})" if ratio < 10 else f"{text} ({ratio:,.0f})"


def _time(seconds: float) -> str:
    """Return two significant digits or the whole number, in the unit that suits."""
    figure, unit = (seconds, "s") if seconds >= 1 else (1000 * seconds, "ms")
    return f"{figure:.0f} {unit}" if figure >= 10 else f"{figure:.2g} {unit}"
