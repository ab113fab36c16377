"""Thresholds of a model for two classes: what a stricter or laxer one finds, by the test rows of its run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flower_pansvm.agreement_intervals import agreement_intervals
from flower_pansvm.calibration import Calibration
from flower_pansvm.errors import SettingError
from flower_pansvm.models.model import Model
from flower_pansvm.result_file import RESULT_FILE, read_result
from flower_pansvm.shares import Share, share_by_class, share_by_patient

COUNTED = ("of_class", "others")
"""The rows of a group: with the positive class, and others."""


@dataclass(frozen=True)
class OperatingPoint:
    """What a threshold found of the test rows. The first two shares are known where both classes were tested."""

    sensitivity: Share  # of the rows with the class, those at or above the threshold
    specificity: Share  # of the others, those below
    ppv: Share | None  # of the rows at or above it, those with the class
    npv: Share | None  # of those below, the others
    decision: float | None  # the threshold; None where it is not known, or every row is above it
    probability: float | None  # that the model gives there; None where it gives none


def operating_point(result: Mapping[str, Any], sensitivity: float) -> OperatingPoint | None:
    """Return the strictest threshold that finds a share of the test rows with the positive class.

    Rows are known in groups with similar decision values (:class:`flower_pansvm.metrics.DecisionGroup`): the threshold
    is the lower end of a group. None if the test has not counted decision values of rows of two classes.

    Parameters
    ----------
    result : mapping
        Of a run.
    sensitivity : float
        The share that is wanted, above 0, at most 1.
    """
    cases = [group["of_class"] for group in _groups_of_two(result)]
    finding = [index for index in range(len(cases)) if sum(cases[index:]) >= sensitivity * sum(cases) - 1e-9]
    return _point(result, max(finding)) if finding else None


def chosen_point(result: Mapping[str, Any]) -> OperatingPoint | None:
    """Return what the threshold of a run's own settings found of the test rows; None if it has none, or nobody knows.

    Of a probability: the groups whose mean is at least that.
    """
    threshold, sensitivity = (_chosen(result, key) for key in ("threshold", "sensitivity"))
    if sensitivity:
        return operating_point(result, sensitivity)
    given = [group["probability"] for group in _groups_of_two(result)]
    if not threshold or None in given:
        return None
    return _point(result, sum(p < threshold for p in given))


def _groups_of_two(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the groups of the decision values, the smallest first; none unless rows of two classes were tested."""
    groups, classes = result.get("decision_groups") or [], result.get("classes") or []
    if len(classes) != 2 or not groups or not all(sum(g[of] for g in groups[0]) for of in COUNTED):
        return []
    return list(groups[0])


def _point(result: Mapping[str, Any], first: int) -> OperatingPoint | None:
    """Return what a threshold finds that is the lower end of a group, by the group's index."""
    groups = _groups_of_two(result)
    if not groups:
        return None
    cases, others = ([group[key] for group in groups] for key in COUNTED)
    hits, alarms = sum(cases[first:]), sum(others[first:])
    missed, spared = sum(cases) - hits, sum(others) - alarms
    noise = _noise(result, groups, first)
    sensitive = share_by_class(result, 1, hits, missed, noise)
    specific = share_by_class(result, 0, spared, alarms, noise)
    assert sensitive is not None
    assert specific is not None
    return OperatingPoint(
        sensitivity=sensitive,
        specificity=specific,
        ppv=share_by_patient(result, hits, alarms, noise),
        npv=share_by_patient(result, spared, missed, noise),
        decision=groups[first].get("least") if first < len(groups) else None,
        probability=groups[first].get("least_probability") if first < len(groups) else None,
    )


def _noise(result: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], first: int) -> float:
    """Return the standard deviation, at most, of the noise in counts of the rows below or from a group on.

    They are sums of groups; or of the counts at the model's own boundary and the groups between.
    """
    of_group, of_side = result.get("bin_noise") or 0.0, result.get("count_noise") or 0.0
    between = abs(first - sum(g.get("least") is None or g["least"] < 0 for g in groups))
    return math.sqrt(min(max(first, len(groups) - first) * of_group**2, of_side**2 + between * of_group**2))


@dataclass(frozen=True)
class Limit:
    """From what value on the positive class is predicted; by default from a decision value of 0 on."""

    text: str = ""  # in words
    probability: float | None = None
    decision: float | None = None


def limit_of(
    model: Model, result: Mapping[str, Any], threshold: float | None, sensitivity: float | None
) -> Limit:
    """Return the limit that was asked for, else that of the model's own run; SettingError if it cannot be used.

    ``result`` is as :func:`result_of` returns it.
    """
    classes = model.schema_.classes
    has_run = bool(result)
    lacking = ""
    if threshold is None and sensitivity is None and has_run:
        threshold, sensitivity = (_chosen(result, key) for key in ("threshold", "sensitivity"))
        point = operating_point(result, sensitivity) if sensitivity else None
        if sensitivity and (point is None or point.decision is None):
            lacking, sensitivity = (
                f"No threshold of the test's finds {sensitivity:.0%} as the run asked for. ",
                None,
            )
    for name, value in (("threshold", threshold), ("sensitivity", sensitivity)):
        if value is not None and not 0 < value < 1:
            raise SettingError(f"--{name} is {value:g}. It is a share above 0 and below 1, such as 0.3.")
        if value is not None and len(classes) != 2:
            raise SettingError(
                f"--{name} goes with two classes, and the model has {len(classes)}. Leave it out."
            )
    if threshold is not None and sensitivity is not None:
        raise SettingError("--threshold and --sensitivity both say what is predicted. Leave one of them out.")
    positive = classes[-1]
    if threshold is not None:
        if not hasattr(model, "predict_proba"):
            raise SettingError(
                "--threshold is a probability, and the model gives none. Train it with --probability true, or say "
                "how many patients it is to find: --sensitivity 0.9."
            )
        return Limit(
            f"'{positive}' is predicted from a probability of {threshold:g} on.", probability=threshold
        )
    if sensitivity is not None:
        point = operating_point(result, sensitivity) if has_run else None
        if point is None or point.decision is None or not hasattr(model, "decision_function"):
            raise SettingError(
                f"No threshold is known that finds {sensitivity:.0%} of the patients with '{positive}'. It is one that "
                f"did so in the test, which the {RESULT_FILE} of the model's own run tells (pan-svm, selections): keep "
                "it beside the model, ask for less, or train with test rows."
            )
        hits, spared = point.sensitivity, point.specificity
        return Limit(
            f"'{positive}' is predicted from a decision value of {point.decision:.4g} on: in the test that found "
            f"{hits.value:.0%} of the rows with '{positive}' (95% interval {hits.low:.0%} to {hits.high:.0%}), and "
            f"{1 - spared.value:.0%} of the others were taken for it. It was chosen on these rows: both can be "
            "too good.",
            decision=point.decision,
        )
    boundary = boundary_of(model)
    if boundary is not None:
        return Limit(f"{lacking}'{positive}' is predicted from a probability of {boundary:.3f} on.")
    if len(classes) == 2 and hasattr(model, "predict_proba"):
        return Limit(
            f"{lacking}Every row has the same probability: on held-out rows of the training the model told the classes "
            "apart no better than chance. Do not use its predictions."
        )
    return Limit(f"{lacking}Classes are predicted at the model's own boundary." if lacking else "")


def result_of(model: Model, folder: Path) -> Mapping[str, Any]:
    """Return the result of a model's own run in its folder; nothing of another, whose thresholds have another scale."""
    result = read_result(folder) if (folder / RESULT_FILE).exists() else {}
    return result if result.get("model_sha256") == model.sha256() else {}


def caution_of(model: Model, result: Mapping[str, Any]) -> str:
    """Return what to keep in mind of a model's probabilities, as far as the result of its run tells."""
    return caution_of_probabilities(result) if hasattr(model, "predict_proba") else ""


UNTOLD = 1.0
"""Width of a calibration slope's interval from which on it tells nothing."""

TOO_MODERATE = "they are too moderate: those near 0 or 1 should be nearer"
TOO_EXTREME = "they are too extreme: those near 0 or 1 should be less so"


def caution_of_probabilities(result: Mapping[str, Any]) -> str:
    """Return what to keep in mind of a run's probabilities; empty if the test finds no fault in them.

    Of those that were fitted on perturbed records there is always something.
    """
    if result.get("level") == "perturbed" and (result.get("config") or {}).get("probability"):
        return _caution_of_copies(result)
    if (result.get("agreement") or {}).get("slope") is None:
        return ""
    slope = agreement_intervals(result)["slope"]
    if slope[1] <= 1 <= slope[2]:
        return ""
    return (
        f"Take the order of probabilities, not their size: in the test {TOO_MODERATE if slope[1] > 1 else TOO_EXTREME}"
        f"{_in_numbers(slope)}."
    )


def _in_numbers(slope: tuple[float, float, float]) -> str:
    value, low, high = slope
    return f" (calibration slope {value:.2f}, 95% interval {low:.2f} to {high:.2f}; 1 is ideal)"


def _caution_of_copies(result: Mapping[str, Any]) -> str:
    slope = (
        agreement_intervals(result).get("slope") if result.get("tested_on") != "perturbed records" else None
    )
    if slope is None:
        text = "How they hold for true ones was not measured"
        if result.get("tested_on") == "perturbed records":
            text += ". Beside copies, in which some classes are wrong, they look too extreme"
    else:
        _, low, high = slope
        text = (
            f"For true ones {TOO_MODERATE}"
            if low > 1
            else "For true ones they look too extreme, but the noise of the test makes them look so"
            if high < 1 and result["agreement"].get("slope_noise")
            else f"For true ones {TOO_EXTREME}"
            if high < 1
            else "The test is too small, or its noise too large, to tell"
            if high - low > UNTOLD
            else "The test finds no fault in them, but is too small to find a slight one"
        )
        text += _in_numbers(slope)
    return (
        "Probabilities were fitted on perturbed records, and corrected for the noise that is known to be in these. "
        f"{text}. Take their order, or fit them again on true records of your own."
    )


def boundary_of(model: Model | None, decision: float = 0.0) -> float | None:
    """Return the probability of the positive class of two at a decision value; None if the model gives none.

    By default it is that from which on the model predicts the class.

    Platt's sigmoid need not be a half where the decision value is 0. Where it is flat, no probability decides.
    """
    calibration: Calibration | None = getattr(model, "calibration_", None)
    if calibration is None or len(calibration.slopes) != 1 or calibration.slopes[0] <= 0:
        return None
    return float(calibration.probabilities(np.array([[decision]]))[0, 1])


def _chosen(result: Mapping[str, Any], key: str) -> float | None:
    """Return a share of the settings of a run, None if it has none; SettingError if it is invalid."""
    value = (result.get("config") or {}).get(key) or None
    if value is not None and not (isinstance(value, float | int) and 0 < value < 1):
        raise SettingError(
            f"'{key}' in the {RESULT_FILE} beside the model is no share: it was changed or damaged. Copy it again."
        )
    return value
