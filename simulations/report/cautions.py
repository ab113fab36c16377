"""What a reader has to keep in mind before using a model: sentences, each only where it is true of the run."""

from collections.abc import Mapping
from typing import Any

from simulations.report.section import quoted, some
from simulations.report.shares import class_figures, count, percent
from strategies.shares import all_right, classes_not_tested

FEW = 20
"""Patients of a class below which what is said of it is rough."""

Result = Mapping[str, Any]


def cautions(result: Result) -> list[str]:
    """Return all that is true of a run, the gravest first."""
    found = (caution(result) for caution in CAUTIONS)
    return [text for text in found if text]


def not_tried(result: Result) -> str:
    """Tell that nobody knows how good the model is."""
    if result["accuracy"] is not None:
        return ""
    return "Nobody knows how good the model is: it was tried on no patient."


def no_model(result: Result) -> str:
    """Tell that there is nothing to use."""
    if result["model_sha256"] is not None:
        return ""
    return "This run leaves no model: its figures say how good a method is, and there is nothing to use for patients."


def not_better_than_the_largest_class(result: Result) -> str:
    """Tell that who always names the most frequent class is as often right, or may be."""
    right, classes = all_right(result), class_figures(result)
    if right is None or not classes:
        return ""
    largest = max(classes, key=lambda one: one.patients)
    always = largest.patients / sum(one.patients for one in classes)
    if right.low > always:
        return ""
    known = "is not" if right.value <= always else "may not be"
    return (
        f"The model {known} better than no model: who always says “{largest.name}” is right for "
        f"{percent(always)} of the test patients, the model for {percent(right.value)} (95% confidence interval "
        f"{percent(right.low)} to {percent(right.high)})."
    )


def never_named(result: Result) -> str:
    """Tell which classes the model gives to nobody, though patients have them."""
    confusion, noise = result["confusion"], result["count_noise"]
    if not confusion or noise:
        return ""
    said = [sum(row[number] for row in confusion) for number in range(len(confusion))]
    names = [
        f"“{name}”"
        for name, times, row in zip(result["classes"], said, confusion, strict=True)
        if times == 0 and sum(row) > 0
    ]
    return f"The model never says {some(names)}, though some test patients have it." if names else ""


def not_tested(result: Result) -> str:
    """Tell which classes nobody of the test has, and what the figures then leave out."""
    names = classes_not_tested(result)
    if not names or result["accuracy"] is None:
        return ""
    what = "leave them out" if result["balanced_accuracy"] is not None else "are not measured"
    return (
        f"No test patient has {some([quoted(name) for name in names])}: nobody knows how good the model is for such "
        f"patients. Balanced accuracy, F1 and area under the curve {what}."
    )


def few_patients(result: Result) -> str:
    """Tell of which classes there are few patients, in the test or in training."""
    tested = {one.name: one.patients for one in class_figures(result)}
    trained = dict(zip(result["classes"] or [], result["rows_train_by_class"] or [], strict=False))
    texts, nobody = [], classes_not_tested(result)
    if not tested and 0 < (result["rows_test"] or 0) < 2 * FEW:
        return f"The model was tried on {result['rows_test']} patients only: its figures can be far off."
    for name in result["classes"] or []:
        parts = [
            f"{count(numbers[name])} {what}"
            for numbers, what in ((trained, "to learn from"), (tested, "to try it on"))
            if name in numbers and numbers[name] < FEW and (numbers is trained or name not in nobody)
        ]
        if parts:
            texts.append(f"“{name}” ({' and '.join(parts)})")
    if not texts:
        return ""
    return f"There are few patients of {some(texts)}: what is said of so few can be far off."


def noisy_counts(result: Result) -> str:
    """Tell that the figures are not exact, and by how much."""
    noise = result["count_noise"]
    if not noise or result["accuracy"] is None:
        return ""
    return (
        "To protect the patients, random noise was added to every count of test patients: each is off by about "
        f"{noise:.2g} (standard deviation). The intervals have room for it."
    )


def sites_lost(result: Result) -> str:
    """Name the sites that are missing."""
    if not result["dropped_sites"]:
        return ""
    return (
        f"Sites stopped answering and were left out: {', '.join(result['dropped_sites'])}. What came after that "
        "knows nothing of their patients, and the test has none of them."
    )


def one_class_at_a_site(result: Result) -> str:
    """Name the sites that know one class only."""
    names = result["sites_with_one_class"]
    if not names:
        return ""
    return (
        f"Sites that named one class only: {some(names)}. Either all their patients are alike, or the label column is "
        "not the right one there. The model may then tell sites apart and not patients."
    )


def differing_sites(result: Result) -> str:
    """Tell in what sites differ that most likely should not."""
    found = result["site_differences"]
    if not found:
        return ""
    return f"Tables of sites differ in what should most likely be alike: {'; '.join(found)}"


def not_converged(result: Result) -> str:
    """Tell that training was not at its end."""
    if result.get("converged") is not False:
        return ""
    return "Training ended before it was sure to have found the best model. A better one may exist."


def constant_columns(result: Result) -> str:
    """Name the columns that say nothing."""
    names = result.get("constant_columns") or []
    if not names:
        return ""
    return (
        f"These columns are the same for all patients, or empty, and tell the model nothing: {some(names)}. Were they "
        "filled in?"
    )


def unprotected(result: Result) -> str:
    """Tell that the sums were open."""
    if result["aggregation"] != "plain":
        return ""
    return (
        "Nothing was masked in this run: the coordinator saw every site’s sums. Use the secure sum “plain” for "
        "comparison only."
    )


def exact_sums(result: Result) -> str:
    """Tell that rows can be computed from what the coordinator was told."""
    told = {(one["task"], one["how"]) for one in result["disclosed"]}
    if not told & {("cuts", "exact"), ("rff_cuts", "exact"), ("consensus", "exact")}:
        return ""
    return (
        "The coordinator was told exact sums over true records, many times. Single patients’ records can be computed "
        "from these, though not whose they are: treat what it has received as patients’ data."
    )


def tested_on_copies(result: Result) -> str:
    """Tell that the test patients' records, and their classes, were perturbed."""
    if result["tested_on"] != "perturbed records" or result["accuracy"] is None:
        return ""
    return (
        "The model was tried on perturbed copies of patients’ records, in which some classes are wrong. How good it is "
        "for true records was not measured; most likely it is better."
    )


CAUTIONS = (
    no_model,
    not_tried,
    not_better_than_the_largest_class,
    tested_on_copies,
    never_named,
    not_tested,
    sites_lost,
    differing_sites,
    one_class_at_a_site,
    few_patients,
    noisy_counts,
    not_converged,
    constant_columns,
    exact_sums,
    unprotected,
)
