"""Sections that an engineer reads: how the run went. What they say is in ``engineer.html.j2``."""

import math
from itertools import groupby
from typing import Any

from strategies.report import selecting, tuning
from strategies.report.section import Result, filled, some, svg
from strategies.report.words.system import TaskWords, sentences, words_of_tasks
from strategies.settings import all_settings, default_config

TEMPLATES = "engineer.html.j2"


def protected(result: Result) -> str:
    """Return whom the promise of a run is about: a patient, where hospitals bound the rows of each, else a row."""
    promise = result.get("guarantee")
    return (
        "patient" if result.get("patient_id") and (promise is None or promise["mode"] == "local") else "row"
    )


def guarantee_headline(result: Result) -> dict[str, str]:
    """Return the promise in a line."""
    promise = result["guarantee"]
    whom = "whoever gets the model" if promise["mode"] == "release" else "everybody but the site itself"
    return {
        "promise": f"epsilon {promise['epsilon']:g} for every training {protected(result)}, towards {whom}",
        "not covered": "; ".join(promise["not_covered"]),
    }


def guarantee(result: Result) -> str:
    """Return the guarantee of private and hybrid SVM, towards whom, and its limits."""
    promise = result["guarantee"]
    factor = math.exp(promise["epsilon"])
    return filled(TEMPLATES, "guarantee", promise=promise, factor=factor, whose=protected(result))


def privacy_headline(result: Result) -> dict[str, str]:
    """Return the promise in a line, and the noise in the accuracy."""
    promise = result["privacy"]
    epsilon = max(promise["epsilon_train"], promise["epsilon_test"])
    sites = "site colludes or fails" if promise["colluders"] == 1 else "sites collude or fail"
    every = f"epsilon {epsilon:.3g}, delta {promise['delta']:g} for every {protected(result)}"
    lines = {"promise": f"{every}, if at most {promise['colluders']} {sites}"}
    if promise["not_covered"]:
        lines["not covered"] = "; ".join(promise["not_covered"])
    if promise["accuracy_noise"] is not None:
        lines["noise in the accuracy"] = f"± {promise['accuracy_noise']:.4f}, of the test only"
    return {**lines, "rows trained on, about": str(promise["rows"])}


def privacy(result: Result) -> str:
    """Return a run's promise about every row or patient, in words, and its spent budget."""
    promise = result["privacy"]
    totals: dict[str, float] = {}
    for entry in promise["spent"]:
        totals[entry["rows"]] = totals.get(entry["rows"], 0.0) + entry["rho"]
    factor = math.exp(max(promise["epsilon_train"], promise["epsilon_test"]))
    values = {"promise": promise, "totals": totals, "factor": factor, "whose": protected(result)}
    return filled(TEMPLATES, "privacy", result=result, **values)


def model_choice_headline(result: Result) -> dict[str, str]:
    """Return the best setting."""
    chosen = result["chosen"]
    best = f"{tuning.point_name(chosen)}, accuracy {tuning.accuracy(chosen['grid'][0])}"
    return {"chosen by cross-validation": best}


def model_choice(result: Result) -> str:
    """Return the points of cross-validation, and the best of them."""
    return filled(TEMPLATES, "model_choice", result=result, tuning=tuning)


def selection_headline(result: Result) -> dict[str, str]:
    """Return the chosen features, and the accuracy over the folds with all and with these."""
    chosen = result["selected"]
    accuracies = [
        f"{selecting.accuracy(point)} with {name}" for name, point in selecting.stages(result).items()
    ]
    return {
        "chosen features": f"{len(chosen)} of {len(result['ranking'])}: {some(chosen)}",
        "accuracy over the folds": f"{'; '.join(accuracies)}. These folds chose, so it is too good",
    }


def selection(result: Result) -> str:
    """Return the chosen features, and the steps of the choice."""
    from strategies.report.plots import selection_figure  # noqa: PLC0415 - matplotlib, which figures need not wait for

    plot = svg(selection_figure(result), "Accuracy against the number of features")
    return filled(TEMPLATES, "selection", result=result, selecting=selecting, plot=plot)


def convergence_headline(result: Result) -> dict[str, str]:
    """Return the number of landmarks, and the gap of the problem that has come least far."""
    objective = result["objective"]
    problems = objective if isinstance(objective, list) else [objective]
    worst = max(problems, key=lambda problem: problem["gap"])
    converged = "" if result["converged"] else " (not converged)"
    return {
        "landmarks": f"{result['landmarks']} (rank {result['rank']})",
        "gap between bounds": f"{worst['gap']:.1e}{converged}",
    }


def convergence(result: Result) -> str:
    """Return how the bounds of the cutting planes have met."""
    from strategies.report.plots import convergence_figure  # noqa: PLC0415 - matplotlib, which figures need not wait for

    says = f"Gap between the bounds after each of {result['cut_rounds']} round trips"
    return filled(TEMPLATES, "convergence", plot=svg(convergence_figure(result), says))


def audit(result: Result) -> str:
    """Return the findings of ``pansvm run --audit``."""
    report = result["audit"]
    return filled(TEMPLATES, "audit", audit=report, rows=result["rows_train"], sentences=sentences(report))


def departures(result: Result) -> str:
    """Return all that left the sites, what for, and how."""
    disclosed = result["disclosed"]
    # A simulation tests on them, and its list says what hospitals would have sent.
    truly = (result.get("level"), result.get("tested_on")) == ("perturbed", "true records")
    return filled(TEMPLATES, "departures", disclosed=disclosed, tasks=_in_words(disclosed), truly=truly)


def _in_words(disclosed: list[dict[str, Any]]) -> list[tuple[str, str, str, list[str]]]:
    """Return each task's name, disclosed values, purpose, and ways of disclosure."""
    lines, words = [], words_of_tasks()
    for task, entries in groupby(disclosed, key=lambda entry: entry["task"]):
        of_task = words.get(task, TaskWords("What a task of its own has asked for", ""))
        ways = dict.fromkeys(entry["how"] for entry in entries)
        lines.append((task, of_task.leaves, of_task.why, list(ways)))
    return lines


def time(result: Result) -> str:
    """Return the duration of each phase, and the bytes sent in it."""
    return filled(TEMPLATES, "time", phases=result["phases"])


def settings(result: Result) -> str:
    """Return the run's settings, so that it can be repeated."""
    usual, known = default_config(), all_settings()
    changed = [
        (name, value, usual.get(name, ""), known[name].metadata["meaning"] if name in known else "")
        for name, value in result["config"].items()
        if name not in usual or value != usual[name]
    ]
    return filled(TEMPLATES, "settings", result=result, changed=changed)
