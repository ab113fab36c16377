"""Tables and plots of the pages from ``results/*.json``: ``python -m simulations.figures`` writes them anew.

In a page a table stands between ``<!-- figures: NAME -->`` and ``<!-- end -->``; a test fails if it is another one than
its result file gives.
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from simulations.papers.writing import markdown

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(?<=<!-- figures: )([\w-]+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)

EXACT, NOISES = "exact", ("perturbed, noise 0.25", "perturbed, noise 0.5")
SHORT = ("`exact`", "0.25", "0.5")
EPSILONS = (0.5, 1.0, 2.0, 4.0)


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


def rounds(training: Result) -> str:
    """Return the rounds of cutting planes of both searches on the nine sets."""
    found = training.frame("rounds").pivot_table(index="data", columns="search", values="rounds", sort=False)
    return _table(("", "fast", "published"), found[["fast", "published"]], "{:.0f}")


def central(training: Result) -> str:
    """Return the accuracy at each level, and of a central SVC, with the paper's C and gamma."""
    columns = ("exact", *NOISES, "central SVC")
    found = 100 * training.frame("accuracy").pivot_table(
        index="data", columns="system", values="accuracy", sort=False
    )
    return _table(("", "`exact`", "noise 0.25", "noise 0.5", "`SVC`"), found[list(columns)], "{:.1f}")


def levels(comparison: Result) -> str:
    """Return the accuracy of systems at each level, in percent, by data set."""
    found = _by_level(comparison)
    systems = list(
        dict.fromkeys(found["system"].sort_values(key=lambda names: names != "pan-svm", kind="stable"))
    )
    columns = [(system, level) for system in systems for level in SHORT]
    values = 100 * found.pivot_table(
        index="data", columns=["system", "level"], values="accuracy", sort=False
    ).reindex(columns=columns)
    header = [f"`{system}` {level}" if level == "`exact`" else level for system, level in columns]
    return _table(("", *header), values, "{:.1f}")


def rare(rare_classes: Result) -> str:
    """Return what PAN-SVM reaches at each level where a class is rare, in percent, by class weights."""
    found = _by_level(rare_classes)
    found["table"] = found["data"] + ", `" + found["class_weight"] + "`"
    measures = {"auc": "AUC", "accuracy": "accuracy", "balanced_accuracy": "balanced accuracy"}
    columns = [(measure, level) for measure in measures for level in SHORT]
    values = 100 * found.pivot_table(index="table", columns="level", values=list(measures), sort=False)
    header = [f"{measures[measure]} {level}" if level == "`exact`" else level for measure, level in columns]
    return _table(("", *header), values[columns], "{:.1f}")


def systems(comparison: Result) -> str:
    """Return what each system reaches and costs over data sets and repeats, by split."""
    found = comparison.frame("systems").pivot_table(
        index="system",
        columns="split",
        values=["accuracy", "round_trips", "megabytes"],
        sort=False,
        dropna=False,
    )
    columns = [
        ("accuracy", "iid"),
        ("accuracy", "dirichlet:0.5"),
        ("round_trips", "iid"),
        ("megabytes", "iid"),
    ]
    chosen = found.reindex(columns=columns) * [100, 100, 1, 1]
    chosen.index = [f"`{name}`" for name in chosen.index]
    header = ("", "accuracy, iid, %", "dirichlet:0.5", "round trips", "MB")
    return _table(header, chosen, "{:.1f}", "{:.1f}", "{:.0f}", "{:.2f}")


def kept(privacy: Result) -> str:
    """Return what attackers have found at each level, by table."""
    found = privacy.frame("levels").pivot_table(
        index="data", columns=["how", "level"], values=["found", "membership", "records"], sort=False
    )
    at = (EXACT, *NOISES)
    columns = [
        ("records", "run", EXACT),
        *(("found", how, level) for how in ("run", "seeds") for level in at),
        *(("membership", "seeds", level) for level in at),
    ]
    header = (
        *("table", "training records", "one run: `exact`", "0.25", "0.5"),
        *("twelve runs: `exact`", "0.25", "0.5", "membership: `exact`", "0.25", "0.5"),
    )
    return _table(header, found.reindex(columns=columns), *["{:.0f}"] * 7, *["{:.2f}"] * 3)


def private_accuracy(models: Result) -> str:
    """Return the accuracy of ``dp-svm`` by ε, in percent, with that of an exact SVM and the larger class."""
    found = models.frame("models")
    of_dp = found[found["method"] == "dp-svm"].pivot_table(
        index="data", columns="epsilon", values="accuracy", sort=False
    )
    for name in ("exact SVM", "majority"):
        of_dp[name] = found[found["method"] == name].set_index("data")["accuracy"]
    header = ("set", *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "exact SVM", "largest class")
    return _table(header, 100 * of_dp[[*EPSILONS, "exact SVM", "majority"]], "{:.1f}")


def large_tables(contestants: Result) -> str:
    """Return time, bytes, rounds, accuracy and memory of PAN-SVM and of central solvers on large tables."""
    found = contestants.frame("contestants")
    found["accuracy"] *= 100
    found.index = [f"{data}, `{name}`" for data, name in zip(found["data"], found["system"], strict=True)]
    header = ("", "seconds", "MB sent", "rounds", "accuracy, %", "GB of memory")
    columns = ["seconds", "megabytes_up", "rounds", "accuracy", "peak_gb"]
    return _table(header, found[columns], "{:.1f}", "{:.0f}", "{:.0f}", "{:.2f}", "{:.1f}")


def rows(scale: Result) -> str:
    """Return time, rounds, memory and accuracy of runs with many rows."""
    found = scale.frame("rows")
    found["accuracy"] *= 100
    found.index = [
        f"{rows:,}, `{level}`" for rows, level in zip(found["rows"], found["privacy"], strict=True)
    ]
    header = ("rows", "seconds", "rounds", "GB of memory", "accuracy, %")
    columns = ["seconds", "rounds", "peak_gb", "accuracy"]
    return _table(header, found[columns], "{:.0f}", "{:.0f}", "{:.1f}", "{:.2f}")


def sites(scale: Result) -> str:
    """Return time, round trips and bytes of runs with many sites."""
    found = scale.frame("sites")
    found.index = [
        f"{count:,}, `{name}`" for count, name in zip(found["sites"], found["aggregation"], strict=True)
    ]
    header = ("sites", "seconds", "round trips", "MB")
    return _table(header, found[["seconds", "round_trips", "megabytes"]], "{:.1f}", "{:.0f}", "{:.1f}")


def sums(secure_sums: Result) -> str:
    """Return what one sum of 10,000 values over five sites costs with each protocol."""
    found = secure_sums.frame("sums").query("sites == 5 and values == 10_000").set_index("aggregation")
    found.index = [f"`{name}`" for name in found.index]
    found = found.assign(milliseconds=1e3 * found["cpu_seconds"], kilobytes=found["bytes"] / 5e3)
    header = ("protocol", "CPU of all sites, ms", "kB per site", "round trips")
    return _table(header, found[["milliseconds", "kilobytes", "round_trips"]], "{:,.2f}", "{:.0f}", "{:.0f}")


TABLES: dict[str, tuple[str, Callable[[Result], str]]] = {
    "rounds": ("training", rounds),
    "central": ("training", central),
    "levels": ("comparison", levels),
    "rare": ("rare_classes", rare),
    "systems": ("comparison", systems),
    "kept": ("privacy", kept),
    "private-accuracy": ("private_accuracy", private_accuracy),
    "large-tables": ("large_tables", large_tables),
    "many-rows": ("scale", rows),
    "many-sites": ("scale", sites),
    "sums": ("secure_sums", sums),
}
"""Each table of a page: its result file, and the function that makes it."""


def rendered(page: str, folder: Path = ROOT / "results") -> str:
    """Return the text of a page with its tables as their result files give them."""

    def block(found: re.Match[str]) -> str:
        file, make = TABLES[found[1]]
        known = result(file, folder)
        return f"{found[1]}{found[2]}{make(known)}\n{known.origin()}\n"

    return BLOCK.sub(block, page)


def plot_private_accuracy(models: Result) -> Figure:
    """Draw accuracy against ε: one panel a data set, one line a method, bars of one standard error."""
    found = models.frame("models").query(
        "data in ('heart', 'diabetes', 'breast_cancer', 'australian', 'spambase', 'letter')"
    )
    figure = Figure(figsize=(12, 6.5), layout="constrained")
    for panel, (name, of_set) in zip(
        figure.subplots(2, 3).flat, found.groupby("data", sort=False), strict=True
    ):
        for method, line in of_set.groupby("method", sort=False):
            known = 100 * line["accuracy"]
            if line["epsilon"].isna().all():
                style = "-" if method == "exact SVM" else ":"
                panel.axhline(
                    float(known.iloc[0]), color="black", linestyle=style, linewidth=1.2, label=method
                )
            else:
                error = 100 * line["deviation"] / line["splits"] ** 0.5
                panel.errorbar(line["epsilon"], known, error, marker="o", capsize=2, label=method)
        panel.set(title=name, xscale="log", xticks=EPSILONS, xticklabels=[f"{one:g}" for one in EPSILONS])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    figure.supxlabel("ε of the whole run, δ = 1e-5")
    figure.supylabel("test accuracy, %")
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=6, frameon=False
    )
    return figure


def plot_secure_sums(secure_sums: Result) -> Figure:
    """Draw the CPU seconds of one sum by number of values, and by number of sites."""
    found = secure_sums.frame("sums")
    figure = Figure(figsize=(12, 4.5), layout="constrained")
    panels = figure.subplots(1, 2)
    for panel, axis, of_panel, title in (
        (panels[0], "values", found.query("sites == 5"), "5 sites"),
        (panels[1], "sites", found.query("values == 10_000"), "10,000 values"),
    ):
        for name, line in of_panel.groupby("aggregation", sort=False):
            panel.plot(
                line[axis], line["cpu_seconds"], "--" if "hops" in str(name) else "-", marker="o", label=name
            )
        panel.set(xlabel=axis, title=title, yscale="log", xscale="log" if axis == "values" else "linear")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("CPU seconds of all sites")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


PLOTS = {
    "private-accuracy.png": ("private_accuracy", plot_private_accuracy),
    "secure-sums.png": ("secure_sums", plot_secure_sums),
}


def main() -> None:
    """Write the tables of all pages, and the plots, from the result files."""
    docs = ROOT / "docs"
    for page in (ROOT / "README.md", *sorted(docs.glob("*.md"))):
        page.write_text(rendered(page.read_text(encoding="utf-8")), encoding="utf-8")
    for name, (file, draw) in PLOTS.items():
        draw(result(file)).savefig(docs / name, dpi=100)


def _by_level(known: Result) -> pd.DataFrame:
    """Return the table ``levels`` of a result, with what a column is called in ``level``."""
    found = known.frame("levels")
    return found.assign(
        level=found["noise"].map(dict(zip((0.25, 0.5), SHORT[1:], strict=True))).fillna(SHORT[0])
    )


def _table(header: Sequence[str], frame: pd.DataFrame, *formats: str) -> str:
    """Return a table with the index as its first column; of one format for all columns, or one each."""
    each = formats if len(formats) > 1 else formats * frame.shape[1]
    lines = (
        [
            str(name),
            *("" if pd.isna(cell) else form.format(cell) for form, cell in zip(each, line, strict=True)),
        ]
        for name, line in zip(frame.index, frame.itertuples(index=False), strict=True)
    )
    return markdown(header, lines)


if __name__ == "__main__":
    main()
