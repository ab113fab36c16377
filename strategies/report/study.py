"""What reports of prediction models say of a study (TRIPOD+AI, Collins et al. 2024), as far as a machine can know it.

What it cannot know stands in the schema file, and is shown as missing where it does not.
"""

from flower_pansvm.table_schema import CATEGORY, HALF, YES_NO
from strategies.report.section import Result, filled, quoted, simulated, some, unit

MOST = 50
"""Predictors that are listed."""

NOT_SAID = "not said; a line {key} in the schema file says it"


def study(result: Result) -> str:
    """Return outcome, predictors, source of the data, what was tried on what, and what nobody has looked at."""
    shown = [(entry["name"], _kind(entry), _cells(entry)) for entry in result["predictors"][:MOST]]
    return filled(
        *("study.html.j2", "study"),
        lines=_lines(result),
        predictors=shown,
        more=len(result["predictors"]) - MOST,
        described=any(cells for _, _, cells in shown),
    )


def _lines(result: Result) -> dict[str, str]:
    """Return the lines about the study, by name."""
    about = {key: text or NOT_SAID.format(key=key) for key, text in result["about"].items()}
    classes, positive = result["classes"] or [], result["positive_class"]
    lines = {
        "intended use": about["intended-use"],
        "source of the data": about["data-source"],
        "outcome": about["outcome"],
        "label column": result.get("label") or "each hospital named its own",
        "classes": f"{some(classes)}"
        + (f"; figures are of {quoted(positive)}{_labels(result)}" if positive else ""),
        "missing cells": _missing(result),
        "settings chosen": _chosen(result),
        "internal validation": _validation(result),
        "external validation": "none: whether the model holds for patients of other hospitals, or of later years, was "
        "not looked at",
        "status": "research; no medical device, and nobody has assessed it as one",
    }
    return {name: text for name, text in lines.items() if text}


def _labels(result: Result) -> str:
    """Return the labels that were named as positive."""
    labels = result["positive_labels"]
    return f", which stands for {some(labels)}" if labels else ""


def _missing(result: Result) -> str:
    """Return the treatment of missing cells."""
    if not result["missing_cells"]:
        return ""
    if result["missing_cells"] == "middle":
        return "count as the middle of the column’s range, also in predictions"
    noise = ", which carries noise" if result["level"] == "dp" else ""
    return f"count as the column’s mean over the training {unit(result)}s of all hospitals{noise}, also in predictions"


def _chosen(result: Result) -> str:
    """Return the settings that were chosen by results, and the records for that."""
    chosen = [
        name
        for name, there in (("C and gamma", result.get("chosen")), ("features", result.get("selected")))
        if there
    ]
    if not chosen:
        return "none by results of this run; settings as given"
    return f"{' and '.join(chosen)}, by cross-validation on training {unit(result)}s"


def _validation(result: Result) -> str:
    """Return the internal validation of the model."""
    if not result["rows_test"]:
        return "none: no test records were set aside"
    share = result["config"].get("test-fraction", 0.0)
    if simulated(result):
        drawn = f"of each simulated hospital’s patients about {share:.0%} were drawn for the test of this run"
    else:
        drawn = f"each hospital set about {share:.0%} of its patients aside before the first training, for all studies"
    return f"{drawn}, and the model was tried on these after it was trained ({result['tested_on']})"


def _kind(column: Result) -> str:
    """Return the kind of a predictor, in words."""
    kind = column.get("kind", "number")
    if kind == CATEGORY:
        return f"category: {some(column.get('categories', []))}"
    if kind == YES_NO:
        return "yes or no"
    ends = column.get("range")
    text = f"number, {ends[0]:g} to {ends[1]:g}" if ends else "number"
    return f"{text} {column['unit']}" if column.get("unit") else text


def _cells(column: Result) -> str:
    """Return the treatment of cells without a plain value."""
    texts = []
    if column.get("missing"):
        texts.append(f"missing where {some(column['missing'])}")
    if column.get("below-limit"):
        texts.append("below the limit: " + ("half of it" if column["below-limit"] == HALF else "the limit"))
    return "; ".join(texts)
