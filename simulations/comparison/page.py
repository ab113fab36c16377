"""What a comparison says, for a person: ``summary.csv`` and ``comparison.html``, of its table."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from simulations.baselines.registry import all_baselines
from simulations.comparison.plots import accuracy_figure, limits_of
from simulations.comparison.significance import (
    FEWEST_BLOCKS,
    LEVEL,
    mean_ranks,
    pair_tests,
)
from simulations.comparison.summary import PLACE, blocks_of, overview, summary
from simulations.report.section import svg, templates

SUMMARY_FILE, PAGE_FILE = "summary.csv", "comparison.html"

SHOWN = {
    "strategy": ("", "{}"),
    "better": ("better", "{}"),
    "worse": ("worse", "{}"),
    "accuracy": ("accuracy", "{:.4f}"),
    "balanced_accuracy": ("balanced accuracy", "{:.4f}"),
    "auc": ("AUC", "{:.4f}"),
    "f1": ("F1", "{:.4f}"),
    "below": ("points below the best", "{:.2f}"),
    "apart": ("points apart", "{:+.2f}"),
    "p": ("p", "{:.3g}"),
    "corrected": ("p, corrected", "{:.3g}"),
    "round_trips": ("round trips", "{:.0f}"),
    "megabytes": ("MB", "{:.2f}"),
    "seconds": ("seconds", "{:.1f}"),
}
"""Title and form of each column that people are shown, in the order of all tables."""


def write_summary(folder: Path, runs: pd.DataFrame, notes: Sequence[str]) -> None:
    """Write means and deviations as CSV, and a page of them with tests and plots, below notes of what is unusual."""
    means, blocks = summary(runs), blocks_of(runs)
    means.to_csv(folder / SUMMARY_FILE, index=False)
    tested = blocks.shape[0] >= FEWEST_BLOCKS and blocks.shape[1] >= 2
    pairs = pair_tests(blocks) if tested else None
    page = (
        templates("comparison", "report")
        .get_template("comparison.html.j2")
        .render(
            runs=runs,
            levels=_levels(runs),
            blocks=blocks,
            notes=notes,
            places=[
                (", ".join(filter(None, map(str, name))), _shown(_named(group)), _plot(name, runs))
                for name, group in means.groupby(PLACE, sort=False)
            ],
            overview=_shown(overview(means).reset_index()),
            ranks={} if pairs is None else mean_ranks(blocks),
            pairs=None if pairs is None else _shown(pairs),
            differ=0 if pairs is None else int((pairs["corrected"] < LEVEL).sum()),
            # The least that Holm's correction leaves of a p-value, with so many blocks and pairs.
            smallest=0.0 if pairs is None else min(1.0, len(pairs) * 2.0 ** (1 - len(blocks))),
            level=LEVEL,
            fewest=FEWEST_BLOCKS,
            failed=runs.loc[runs["error"] != "", ["strategy", *PLACE, "aggregation", "repeat", "error"]],
            disclosed=_disclosed(means),
        )
    )
    (folder / PAGE_FILE).write_text(page, encoding="utf-8")


def _shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of `SHOWN` as texts below their titles; a deviation stands behind its mean."""
    found = {}
    for name, (title, form) in SHOWN.items():
        if name in frame:
            found[title] = ["–" if pd.isna(value) else form.format(value) for value in frame[name]]
        if f"{name}_sd" in frame:
            spread = ["" if pd.isna(value) else f" ± {form}".format(value) for value in frame[f"{name}_sd"]]
            found[title] = [mean + after for mean, after in zip(found[title], spread, strict=True)]
    return pd.DataFrame(found)


def _named(means: pd.DataFrame) -> pd.DataFrame:
    """Return means with what tells two lines of a strategy apart and what went wrong behind its name."""
    protocols = set(means["aggregation"]) - {""}
    names = [
        line["strategy"]
        + (f" ({line['aggregation']})" if line["aggregation"] and len(protocols) > 1 else "")
        + (f", {line['failed']} of {line['runs']} failed" if line["failed"] else "")
        + (f", {line['not_converged']} not converged" if line["not_converged"] else "")
        for line in means.to_dict("records")
    ]
    return means.assign(strategy=names)


def _plot(place: Sequence[object], runs: pd.DataFrame) -> str:
    """Return the accuracies at a place as SVG."""
    of_data = runs[runs["data"] == place[0]]
    here = of_data[(of_data[PLACE] == list(place)).all(axis=1)]
    strategies, limits = list(dict.fromkeys(runs["strategy"])), limits_of(of_data["accuracy"])
    return svg(accuracy_figure(here, limits, strategies, all_baselines()))


def _levels(runs: pd.DataFrame) -> dict[str, list[str]]:
    """Return the strategies at each level; a failed run has none, and baselines have an empty one."""
    done = runs[runs["error"] == ""]
    return {
        str(level): list(dict.fromkeys(own)) for level, own in done.groupby("level", sort=False)["strategy"]
    }


def _disclosed(means: pd.DataFrame) -> pd.DataFrame:
    """Return what left the sites for each strategy, other than in a sum and beyond what all of them need to join."""
    texts = means.groupby("strategy", sort=False)["disclosed"].agg(lambda found: max(found, key=len))
    return pd.DataFrame({"": texts.index, "open to read": texts.to_numpy()})
