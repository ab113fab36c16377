"""Sections that a clinician reads: what the model is good for. What they say is in ``clinician.html.j2``."""

from datetime import datetime
from itertools import zip_longest
from typing import Any

from flower_pansvm.agreement_intervals import agreement_intervals
from flower_pansvm.shares import Share, all_right, area_interval, balanced_interval
from flower_pansvm.thresholds import chosen_point, operating_point
from strategies.report.curves import bands_of, roc_curves
from strategies.report.section import Result, filled, patient_counts, quoted, simulated, some, svg, unit
from strategies.report.shares import ClassFigures, class_figures, count, share_of_group
from strategies.report.words.system import cautions_of_sums, every_system, words_of_tasks
from strategies.settings import SEPARATOR, owners

TEMPLATES = "clinician.html.j2"

COLUMNS = [
    ("sensitivity", "sensitivity"),
    ("specificity", "specificity"),
    ("positive predictive value", "ppv"),
    ("negative predictive value", "npv"),
]

JOINING = "join"
"""The task of which every run shows the same: names and keys, no record."""

MOST_CLASSES = 8
"""Classes up to which every number has a cell of a table; above, a table has the most frequent mistakes."""

MOST_MISTAKES = 10
"""Mistakes that are listed where there are many classes."""

WANTED = (0.8, 0.9, 0.95)
"""Sensitivities of which the report says what they would cost."""

MOST_AREAS = 5
"""Classes of which the area under the curve is listed where there are many."""


def accuracy(result: Result) -> str:
    """Return the accuracy of the model; sensitivity, specificity and predictive values."""
    classes, counted = class_figures(result), result["confusion"] is not None
    of_two = len(classes) == 2 and counted
    return filled(
        *(TEMPLATES, "accuracy"),
        unit=unit(result),
        result=result,
        right=all_right(result),
        classes=classes,
        of_two=of_two,
        figures=_of_positive(classes[1], classes[0].name) if of_two else (),
        columns=COLUMNS if counted else COLUMNS[:1],
        values=bool(classes) and classes[0].ppv is not None,
        clustered=_clustered(result),
        # Of a threshold that pansvm predict uses in place of the model's own boundary.
        chosen=chosen_point(result) if of_two else None,
        balanced=balanced_interval(result),
    )


def _clustered(result: Result) -> str:
    """Return how intervals have room for rows of the same patient, which are alike."""
    if not result.get("patient_id"):
        return ""
    if result["count_noise"]:
        rows = int(result["config"].get("rows-per-patient", 1))
        every = f"The rows of a patient that take part, at most {rows}, count as one in every interval."
        return every if rows > 1 else ""
    if result.get("patient_squares") is None:
        return "How the rows of a patient go together was not counted: intervals are as wide as can be."
    return (
        "Rows of one patient are alike: every interval is by patient (standard errors are clustered by patient), for "
        "what other patients would have given, and not only other rows."
    )


def _of_positive(figures: ClassFigures, other: str) -> list[tuple[str, str, Share | None]]:
    """Return each figure of a class of two: name, meaning, and share."""
    name, others = quoted(figures.name), quoted(other)
    return [
        ("Sensitivity", f"of those with {name}, found", figures.sensitivity),
        ("Specificity", f"of those with {others}, recognised as such", figures.specificity),
        ("Positive predictive value", f"of those called {name}, right", figures.ppv),
        ("Negative predictive value", f"of those called {others}, right", figures.npv),
    ]


def level_headline(result: Result) -> dict[str, str]:
    """Return the level in a line, and the records of the test."""
    noise = f", noise {result['noise']:g}" if result["noise"] else ""
    tried = "no record" if result["accuracy"] is None else result["tested_on"]
    lines = {"level": f"{result['level']}{noise}", "tested on": tried}
    test = result.get("test_on_true_records") or {}
    if test.get("accuracy_noise") is not None:
        lines["noise in the accuracy"] = f"± {test['accuracy_noise']:.4f}, of the test only"
    if test.get("true_accuracy") is not None:
        lines["true test accuracy (simulation only)"] = f"{test['true_accuracy']:.4f}"
    return lines


def level(result: Result) -> str:
    """Return the records that sums were computed from, the protection by that, and the records of the test."""
    tasks = {entry["task"] for entry in result["disclosed"] if entry["how"] == "disclosed"} - {JOINING}
    exact = {entry["task"] for entry in result["disclosed"] if entry["how"] == "exact"}
    few = result["level"] == "exact" and not cautions_of_sums(exact, every_system())
    note = ""
    if result["level"] == "perturbed" and result["tested_on"] == "true records":
        note = ", which the coordinator of real hospitals does not see"
    return filled(
        *(TEMPLATES, "level"),
        result=result,
        few=few,
        shown=[words.leaves for task, words in words_of_tasks().items() if task in tasks],
        tested_on=result["accuracy"] is not None and result["tested_on"],
        note=note,
        test=result.get("test_on_true_records"),
    )


def patients(result: Result) -> str:
    """Return what, when, whose data, and how many patients, or rows, of each class."""
    trained, tested = result["rows_train_by_class"] or [], class_figures(result)
    numbers = zip_longest(map(count, trained), (count(c.patients) for c in tested), fillvalue="")
    classes = zip(result["classes"] or [], numbers, strict=False)
    return filled(
        *(TEMPLATES, "patients"),
        unit=unit(result),
        lines=_lines(result),
        classes=[(name, *both) for name, both in classes] if trained or tested else [],
        trained=bool(trained),
        tested=bool(tested),
        of_copies=bool(trained) and result.get("level") == "perturbed",
    )


def _lines(result: Result) -> dict[str, str]:
    """Return the lines about the run, by name."""
    tried, names, noun = all_right(result), result["site_names"], unit(result)
    about = (result.get("privacy") or {}).get("rows")
    chosen, every = result.get("selected"), result.get("ranking")
    columns = f"{len(chosen)} of {len(every)}: {some(chosen)}" if chosen and every else None
    # A category is one column of the table, though several features.
    needed = len(result.get("predictors") or ()) or result["features"]
    files = result["config"].get("data", "").split(SEPARATOR)
    data = f"{some(files)}, " + (
        "each the table of one simulated hospital"
        if len(files) > 1
        else "partitioned over simulated hospitals"
    )
    lines = {
        "method": result["strategy"],
        "finished": f"{datetime.fromisoformat(result['finished']):%d %B %Y, %H:%M} UTC",
        "hospitals": f"{result['sites']}" + ("" if simulated(result) else f": {some(names)}"),
        "data": data if simulated(result) else "",
        "classes": some(result["classes"] or []),
        f"{noun}s for training": _number(result["rows_train"]) or (f"about {about:,}" if about else ""),
        f"{noun}s for the test": "none" if tried is None else count(tried.of),
        f"columns per {noun}": columns or _number(needed),
    }
    if result.get("patient_id"):
        lines["patients for training"], lines["patients for the test"] = patient_counts(result)
    return {name: text for name, text in lines.items() if text}


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def mistakes(result: Result) -> str:
    """Return the predicted classes of each class's patients."""
    classes, counts = result["classes"], result["confusion"]
    pairs = [
        (times, name, named)
        for name, line in zip(classes, counts, strict=True)
        for named, times in zip(classes, line, strict=True)
        if name != named and times > 0
    ]
    pairs.sort(key=lambda mistake: -mistake[0])
    listed = None if len(classes) <= MOST_CLASSES else pairs
    return filled(
        *(TEMPLATES, "mistakes"),
        unit=unit(result),
        classes=classes,
        counts=counts,
        mistakes=listed,
        most=MOST_MISTAKES,
    )


def subgroups(result: Result) -> str:
    """Return the figures of subgroups of patients, each share with its interval."""
    classes, lines = result["classes"], []
    noise = result["subgroups"].get("count_noise") or 0.0
    for group in result["subgroups"]["groups"]:
        pairs = group.get("wrong_and_right") or [
            (sum(line) - line[index], line[index]) for index, line in enumerate(group["confusion"])
        ]
        wrong, right = (sum(counts) for counts in zip(*pairs, strict=True))
        every = [*range(len(pairs))]
        shares = [share_of_group(result, group, every, right, wrong)]
        shares += [share_of_group(result, group, [i], good, bad) for i, (bad, good) in enumerate(pairs)]
        lines.append((group["name"], right + wrong, shares if len(classes) <= MOST_CLASSES else shares[:1]))
    return filled(
        *(TEMPLATES, "subgroups"),
        unit=unit(result),
        column=result["subgroups"]["column"],
        # Simulated sites count every group by itself.
        joined=not (noise or simulated(result)),
        classes=classes if len(classes) <= MOST_CLASSES else [],
        lines=lines,
        of_copies=result["level"] == "perturbed" and result["tested_on"] == "perturbed records",
        noise=noise,
    )


def thresholds(result: Result) -> str:
    """Return the ROC curve: what stricter and laxer thresholds would find."""
    from strategies.report.plots import roc_figure  # noqa: PLC0415 - matplotlib, which figures need not wait for

    curves = roc_curves(result)
    two = len(result["classes"]) == 2
    measured = [result["auc"]] if two else result.get("auc_by_class") or []
    by_class = dict(zip(result["classes"][-len(measured) :], measured, strict=False))
    # From all bins; from the groups that the curve is drawn from only where a result has no other.
    areas = [(by_class.get(curve.name) or curve.area, curve.name) for curve in curves]
    says = "; ".join(f"{quoted(name)}: area {area:.3f}" for area, name in areas)
    return filled(
        *(TEMPLATES, "thresholds"),
        unit=unit(result),
        result=result,
        # Some strategies show the coordinator what it computes every patient's value from.
        summed=any(entry["result"] == "histogram" for entry in result["disclosed"]),
        two=two,
        positive=result["classes"][-1],
        areas=[] if two else [(name, area) for area, name in sorted(areas)[:MOST_AREAS]],
        area_interval=area_interval(result),
        chosen=chosen_point(result),
        points=[(wanted, point) for wanted in WANTED if (point := operating_point(result, wanted))],
        plot=svg(roc_figure(result, curves), f"ROC curve. {says}"),
    )


def certainty(result: Result) -> str:
    """Return the calibration: how often the class is there when the model is so and so sure; or why it is not known."""
    from strategies.report.plots import calibration_figure  # noqa: PLC0415 - matplotlib, which figures need not wait for

    several, groups = len(result["classes"]) != 2, result["decision_groups"][0]
    # Of several classes the groups have none, whether or not the model gives any.
    given = result["config"].get("probability") if several else groups[0]["probability"] is not None
    values: dict[str, Any] = {"several": several, "given": given, "bands": None, "unit": unit(result)}
    values["by_largest"] = all(
        result["config"].get(key, usual) == usual
        for key, usual in (("multi-class", "ovr"), ("class-weight", "none"))
    )
    values |= {"boundary": result.get("predicted_from"), "able": result["strategy"] in owners("probability")}
    if given and not several:
        bands = bands_of(result)
        says = f"Share of {unit(result)}s with the class, by the probability that the model gives; as in the table."
        plot = svg(calibration_figure(bands), says)
        values |= {"bands": bands, "plot": plot, "name": quoted(result["classes"][1])}
        values |= {"figures": agreement_intervals(result), "noise": result.get("bin_noise")}
    return filled(TEMPLATES, "certainty", **values)
