"""Tables and plots of the pages: ``python -m simulations.figures`` writes them anew.

Most are from ``results/*.json``; those of ``docs/reproduction.md`` are from the files of the papers.

In a page a table is between ``<!-- figures: NAME -->`` and ``<!-- end -->``; a test fails if it differs from that of
its result file.
"""

import math
import re
from collections.abc import Callable
from typing import Any

import pandas as pd

from simulations.markdown import markdown, table_of
from simulations.papers.page import OTHERS
from simulations.privacy_tables import calibrated, filtered, given_away, kept, nearness, searched
from simulations.result_files import NOISES, ROOT, SHORT, Measured, by_level, result
from simulations.result_plots import EPSILONS, PLOTS

BLOCK = re.compile(r"(?<=<!-- figures: )([\w-]+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)


def rounds(training: Measured) -> str:
    """Return the rounds of cutting planes of both searches on the nine sets."""
    frame = training.frame("rounds").pivot_table(index="data", columns="search", values="rounds", sort=False)
    return table_of(("", "fast", "published"), frame[["fast", "published"]], "{:.0f}")


def central(training: Measured) -> str:
    """Return the accuracy at each level, and of a central SVC, with the paper's C and gamma."""
    columns = ("exact", *NOISES, "central SVC")
    frame = 100 * training.frame("accuracy").pivot_table(
        index="data", columns="system", values="accuracy", sort=False
    )
    return table_of(("", "`exact`", "noise 0.25", "noise 0.5", "`SVC`"), frame[list(columns)], "{:.1f}")


def levels(level_costs: Measured) -> str:
    """Return the accuracy of systems at each level, in percent, by data set."""
    frame = by_level(level_costs)
    systems = list(
        dict.fromkeys(frame["system"].sort_values(key=lambda names: names != "pan-svm", kind="stable"))
    )
    columns = [(system, level) for system in systems for level in SHORT]
    values = 100 * frame.pivot_table(
        index="data", columns=["system", "level"], values="accuracy", sort=False
    ).reindex(columns=columns)
    header = [f"`{system}` {level}" if level == "`exact`" else level for system, level in columns]
    return table_of(("", *header), values, "{:.1f}")


def rare(rare_classes: Measured) -> str:
    """Return the figures of PAN-SVM at each level where a class is rare, in percent, by class weights."""
    frame = by_level(rare_classes)
    frame["table"] = frame["data"] + ", `" + frame["class_weight"] + "`"
    measures = {"auc": "AUC", "accuracy": "accuracy", "balanced_accuracy": "balanced accuracy"}
    columns = [(measure, level) for measure in measures for level in SHORT]
    values = 100 * frame.pivot_table(index="table", columns="level", values=list(measures), sort=False)
    header = [f"{measures[measure]} {level}" if level == "`exact`" else level for measure, level in columns]
    return table_of(("", *header), values[columns], "{:.1f}")


def hospitals(known: Measured) -> str:
    """Return the balanced accuracy and area under the curve on each hospital that was left out, in percent."""
    frame = known.frame("left_out")
    perturbed = frame["level"].str.startswith("perturbed")
    frame["system"] = (
        "`" + frame["system"] + "`" + frame["level"].str.replace("perturbed, noise", "").where(perturbed, "")
    )
    values = 100 * frame.pivot_table(
        index="system", columns="hospital", values=["balanced_accuracy", "auc"], sort=False
    )
    names = list(dict.fromkeys(frame["hospital"]))
    columns = [(measure, name) for measure in ("balanced_accuracy", "auc") for name in names]
    header = [*(f"{name}: balanced accuracy" if not index else name for index, name in enumerate(names))]
    header += [f"{name}: AUC" if not index else name for index, name in enumerate(names)]
    return table_of(("", *header), values[columns], "{:.1f}")


def ablation(known: Measured) -> str:
    """Return the accuracy of each feature map by data set and features, in percent, and the mean of round trips."""
    frame = known.frame("maps")
    frame["system"] = "`" + frame["system"] + "`"
    values = 100 * frame.pivot_table(
        index="system", columns=["data", "landmarks"], values="accuracy", sort=False
    )
    columns = [*dict.fromkeys(zip(frame["data"], frame["landmarks"], strict=True))]
    first = min(count for _, count in columns)
    header = [f"{data}, {count}" if count == first else str(count) for data, count in columns]
    trips = frame.groupby("system", sort=False)["round_trips"].mean()
    formats = (*["{:.1f}"] * len(columns), "{:.0f}")
    return table_of(("", *header, "round trips"), pd.concat([values[columns], trips], axis=1), *formats)


def splits(known: Measured) -> str:
    """Return the accuracy of each system by split, in percent: means over data sets; failed runs are counted."""
    frame = known.frame("splits")
    frame["system"] = "`" + frame["system"] + "`"
    values = 100 * frame.pivot_table(index="system", columns="split", values="accuracy", sort=False)
    values = values[[*dict.fromkeys(frame["split"])]]
    failed = frame.groupby("system", sort=False)["failed"].sum()
    header = ("", *(f"`{name}`" for name in values.columns), "failed runs")
    formats = (*["{:.1f}"] * values.shape[1], "{:.0f}")
    return table_of(header, pd.concat([values, failed], axis=1), *formats)


def systems(comparison: Measured) -> str:
    """Return accuracy and costs of each system over data sets and repeats, by split."""
    frame = comparison.frame("systems").pivot_table(
        index="system",
        columns="split",
        values=["accuracy", "failed", "round_trips", "megabytes"],
        sort=False,
        dropna=False,
    )
    columns = [
        ("accuracy", "iid"),
        ("failed", "iid"),
        ("accuracy", "dirichlet:0.5:5"),
        ("failed", "dirichlet:0.5:5"),
        ("round_trips", "iid"),
        ("megabytes", "iid"),
    ]
    chosen = frame.reindex(columns=columns) * [100, 1, 100, 1, 1, 1]
    chosen.index = [f"`{name}`" for name in chosen.index]
    header = ("", "accuracy, iid, %", "failed", "dirichlet:0.5:5, %", "failed", "round trips", "MB")
    return table_of(header, chosen, "{:.1f}", "{:.0f}", "{:.1f}", "{:.0f}", "{:.0f}", "{:.2f}")


def private_accuracy(models: Measured) -> str:
    """Return the accuracy of ``dp-svm`` by ε, in percent, with that of an exact SVM and the larger class."""
    frame = models.frame("models")
    of_dp = frame[frame["method"] == "dp-svm"].pivot_table(
        index="data", columns="epsilon", values="accuracy", sort=False
    )
    for name in ("exact SVM", "majority"):
        of_dp[name] = frame[frame["method"] == name].set_index("data")["accuracy"]
    header = ("set", *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "exact SVM", "largest class")
    return table_of(header, 100 * of_dp[[*EPSILONS, "exact SVM", "majority"]], "{:.1f}")


def large_tables(contestants: Measured) -> str:
    """Return time, bytes, rounds, accuracy and memory of PAN-SVM and of central solvers on large tables."""
    frame = contestants.frame("contestants")
    frame["accuracy"] *= 100
    frame.index = [f"{data}, `{name}`" for data, name in zip(frame["data"], frame["system"], strict=True)]
    header = ("", "seconds", "MB sent", "rounds", "accuracy, %", "GB of memory")
    columns = ["seconds", "megabytes_up", "rounds", "accuracy", "peak_gb"]
    return table_of(header, frame[columns], "{:.1f}", "{:.0f}", "{:.0f}", "{:.2f}", "{:.1f}")


def rows(scale: Measured) -> str:
    """Return time, rounds, memory and accuracy of runs with many rows."""
    frame = scale.frame("rows")
    frame["accuracy"] *= 100
    frame.index = [
        f"{rows:,}, `{level}`" for rows, level in zip(frame["rows"], frame["privacy"], strict=True)
    ]
    header = ("rows", "seconds", "rounds", "GB of memory", "accuracy, %")
    columns = ["seconds", "rounds", "peak_gb", "accuracy"]
    return table_of(header, frame[columns], "{:.0f}", "{:.0f}", "{:.1f}", "{:.2f}")


def sites(scale: Measured) -> str:
    """Return time, round trips and bytes of runs with many sites."""
    frame = scale.frame("sites")
    frame.index = [
        f"{count:,}, `{name}`" for count, name in zip(frame["sites"], frame["aggregation"], strict=True)
    ]
    header = ("sites", "seconds", "round trips", "MB")
    return table_of(header, frame[["seconds", "round_trips", "megabytes"]], "{:.1f}", "{:.0f}", "{:.1f}")


def deployment(known: Measured) -> str:
    """Return the costs of a round trip at a real SuperLink, by the number of hospitals: means over all runs."""
    runs = known.frame("runs")
    ends = runs.groupby("hospitals")["node_gb"].agg(["first", "last"])
    more = {"SuperNode, GB: after the first run": ends["first"], "after the last": ends["last"]}
    return _trips(runs, "hospitals", more, "{:.2f}")


def deployment_heart(known: Measured) -> str:
    """Return the costs of a run of four heart hospitals at a real SuperLink, by system: means over all runs."""
    runs = known.frame("runs")
    runs["system"] = "`" + runs["system"] + "`"
    longest = runs.groupby("system")["seconds"].max()
    return _trips(runs, "system", {"slowest run": longest}, "{:.0f}")


def _trips(runs: pd.DataFrame, by: str, more: dict[str, "pd.Series[float]"], form: str) -> str:
    """Return the means of runs, and more columns of one format; older results have no time of waiting."""
    columns = {
        "round_trips": ("round trips", "{:.0f}"),
        "seconds": ("seconds a run", "{:.0f}"),
        "seconds_a_trip": ("seconds a round trip", "{:.1f}"),
        "waiting_a_trip": ("of these, waiting for hospitals", "{:.2f}"),
        "hospital_a_trip": ("of these, the slowest hospital's work", "{:.2f}"),
        "server_cpu_a_trip": ("SuperLink, CPU s", "{:.2f}"),
        "node_cpu_a_trip": ("SuperNode, CPU s", "{:.2f}"),
    }
    groups = runs.groupby(by, sort=False)
    known = [name for name in columns if name in runs]
    frame = pd.concat([groups.size(), groups[known].mean(), *more.values()], axis=1)
    header = (by, "runs", *(columns[name][0] for name in known), *more)
    formats = ("{:.0f}", *(columns[name][1] for name in known), *[form] * len(more))
    return table_of(header, frame, *formats)


def faults(known: Measured) -> str:
    """Return the messages of both ends after each fault, and the seconds until the hospitals are connected again."""
    header = ("fault", "a hospital says", "the coordinator reads", "hospitals are connected again")
    table = known.tables["faults"]
    lines = [[fault["fault"], fault["hospital"], fault["coordinator"], _after(fault)] for fault in table]
    return markdown(header, lines, "---")


def _after(fault: dict[str, Any]) -> str:
    if fault["back_after"] is None:
        return f"{fault['ended_well']:g} of {fault['trainings']:g} trainings ended well"
    return f"after {fault['back_after']:.1f} s" if fault["back_after"] else "noticed no break"


def sums(secure_sums: Measured) -> str:
    """Return the costs of a sum of 10,000 values over five sites with each protocol."""
    frame = secure_sums.frame("sums").query("sites == 5 and values == 10_000").set_index("aggregation")
    frame.index = [f"`{name}`" for name in frame.index]
    frame = frame.assign(milliseconds=1e3 * frame["cpu_seconds"], kilobytes=frame["bytes"] / 5e3)
    header = ("protocol", "CPU of all sites, ms", "kB per site", "round trips")
    return table_of(
        header, frame[["milliseconds", "kilobytes", "round_trips"]], "{:,.2f}", "{:.0f}", "{:.0f}"
    )


def mean_costs(secagg: Measured) -> str:
    """Return the costs of a round with each protocol, beside Flower's own."""
    frame = secagg.frame("costs")
    frame["protocol"] = [
        "Flower, no secure sum" if name == "flower" else f"`{name}`, {bits} bits"
        for name, bits in zip(frame["protocol"], frame["bits"], strict=True)
    ]
    frame["numbers"] = frame["numbers"].map("{:,}".format)
    frame["bytes_up_per_site"] /= 1e6
    header = ("numbers in the model", "protocol", "CPU of all, s", "MB from a site")
    columns = frame.set_index("numbers")[["protocol", "cpu_seconds", "bytes_up_per_site"]]
    return table_of(header, columns, "{}", "{:.2f}", "{:.1f}")


def mean_equality(secagg: Measured) -> str:
    """Return the difference of models from those of Flower's own strategies, by the bits of a number."""
    frame = secagg.frame("equality").pivot_table(
        index="strategy", columns="bits", values="largest_difference", sort=False
    )
    return table_of(("strategy", "64 bits", "32 bits"), frame[[64, 32]], "{:.0e}", "{:.0e}")


def mean_drop_outs(secagg: Measured) -> str:
    """Return the number of rounds that give a mean if another site drops out of each."""
    frame = secagg.frame("drop_outs")
    frame["protocol"] = "`" + frame["protocol"] + "`"
    frame["difference"] = [
        "" if math.isnan(gap) else f"{gap:.0e}" for gap in frame["largest_difference"].astype(float)
    ]
    header = ("protocol", "rounds with a mean", "of", "difference from Flower's weights")
    return table_of(header, frame.set_index("protocol")[["opened", "rounds", "difference"]], "{}", "{}", "{}")


def mean_attacks(secagg: Measured) -> str:
    """Return the values of a site that a coordinator computes from a second request to the others."""
    frame = secagg.frame("attacks")
    frame = frame[frame["protocol"] == "double-mask"].set_index("attack")
    refused = frame["refused"]
    frame["examples"] = [
        "refused" if no else f"{right:.0f} of {total}"
        for no, right, total in zip(refused, frame["examples_found"], frame["examples_of_site"], strict=True)
    ]
    frame["error"] = [
        "" if no else f"{error:.0e}" for no, error in zip(refused, frame["largest_error"], strict=True)
    ]
    header = ("asked without a site", "`min_difference`", "its examples", "error of its weights")
    return table_of(header, frame[["min_difference", "examples", "error"]], "{}", "{}", "{}")


TABLES: dict[str, tuple[str, Callable[[Measured], str]]] = {
    "rounds": ("training", rounds),
    "central": ("training", central),
    "levels": ("level_costs", levels),
    "rare": ("rare_classes", rare),
    "calibrated": ("calibration", calibrated),
    "systems": ("comparison", systems),
    "hospitals": ("hospitals", hospitals),
    "ablation": ("ablation", ablation),
    "splits": ("heterogeneity", splits),
    "kept": ("privacy", kept),
    "nearness": ("privacy", nearness),
    "filtered": ("filters", filtered),
    "searched": ("privacy", searched),
    "given-away": ("privacy", given_away),
    "private-accuracy": ("private_accuracy", private_accuracy),
    "large-tables": ("large_tables", large_tables),
    "many-rows": ("scale", rows),
    "many-sites": ("scale", sites),
    "deployment": ("deployment", deployment),
    "deployment-heart": ("deployment_heart", deployment_heart),
    "faults": ("faults", faults),
    "sums": ("secure_sums", sums),
    "mean-costs": ("secagg", mean_costs),
    "mean-equality": ("secagg", mean_equality),
    "mean-drop-outs": ("secagg", mean_drop_outs),
    "mean-attacks": ("secagg", mean_attacks),
}
"""Each table of a page: its result file, and the function that makes it."""


def rendered(page: str) -> str:
    """Return the text of a page with its tables as their result files give them."""

    def block(match: re.Match[str]) -> str:
        if match[1] in OTHERS:
            return f"{match[1]}{match[2]}{OTHERS[match[1]]()}\n"
        file, make = TABLES[match[1]]
        known = result(file)
        return f"{match[1]}{match[2]}{make(known)}\n{known.origin()}\n"

    return BLOCK.sub(block, page)


def main() -> None:
    """Write the tables of all pages, and the plots, from the result files."""
    docs = ROOT / "docs"
    for page in (ROOT / "README.md", *sorted(docs.glob("*.md"))):
        page.write_text(rendered(page.read_text(encoding="utf-8")), encoding="utf-8")
    for name, (file, draw) in PLOTS.items():
        draw(result(file)).savefig(docs / name, dpi=100)


if __name__ == "__main__":
    main()
