"""What a reader has to keep in mind before using a model: sentences, each only where it is true of the run."""

import shlex
from collections.abc import Iterator

from flower_pansvm.shares import all_right, area_interval, balanced_interval, classes_not_tested
from flower_pansvm.thresholds import caution_of_probabilities
from strategies.report.section import Result, quoted, some, unit
from strategies.report.shares import class_figures, count, percent
from strategies.report.words.system import cautions_of_sums, every_system
from strategies.steps.schema import names_show_positive

FEW = 20
"""Patients of a class below which what is said of it is rough."""

ALIKE = 1e-3
"""Probabilities that differ by less are the same to a reader; means of equal ones differ by rounding."""


def cautions(result: Result) -> list[str]:
    """Return all that is true of a run, the gravest first."""
    return [text for subject in (_of_test, _of_tables, _of_training) for text in subject(result) if text]


def _of_test(result: Result) -> Iterator[str]:
    """Yield the cautions about model and test; empty texts where one does not apply."""
    if result["model_sha256"] is None:
        yield (
            "This run leaves no model: its figures say how good a method is, and there is nothing to use for patients."
        )
    if result["accuracy"] is None:
        yield "Nobody knows how good the model is: it was tried on no patient."
    yield _not_better_than_the_largest_class(result)
    if result["tested_on"] == "perturbed records" and result["accuracy"] is not None:
        yield (
            "The model was tried on perturbed copies of patients’ records, in which some classes are wrong. How good "
            "it is for true records was not measured; most likely it is better."
        )
    yield caution_of_probabilities(result)
    yield _not_calibrated(result)
    yield _positive_by_order(result)
    yield _never_named(result)
    yield _not_tested(result)


def _of_tables(result: Result) -> Iterator[str]:
    """Yield the cautions about sites and patients."""
    if result["dropped_sites"]:
        yield (
            f"Sites stopped answering and were left out: {', '.join(result['dropped_sites'])}. What came after that "
            "knows nothing of their patients, and the test has none of them."
        )
    if result["site_differences"]:
        differences = "; ".join(result["site_differences"])
        yield f"Tables of sites differ in what should most likely be alike: {differences}"
    if result["sites_with_one_class"]:
        yield (
            f"Sites that named one class only: {some(result['sites_with_one_class'])}. Either all their patients are "
            "alike, or the label column is not the right one there. The model may then tell sites apart and not "
            "patients."
        )
    yield _few_patients(result)
    if result["count_noise"] and result["accuracy"] is not None:
        yield (
            "To protect the patients, random noise was added to every count of the test: each is off by about "
            f"{result['count_noise']:.2g} (standard deviation). The intervals have room for it."
        )


def _of_training(result: Result) -> Iterator[str]:
    """Yield the cautions about training and sums."""
    if result.get("converged") is False:
        yield "Training ended before it was sure to have found the best model. A better one may exist."
    described = result.get("predictors") or ()
    codes = {f"{one['name']}={code}" for one in described for code in one.get("categories") or ()}
    constant = result.get("constant_columns") or []
    if absent := [name for name in constant if name in codes]:
        yield (
            f"Categories that none of the training {unit(result)}s has, or all have: {some(absent)}. The model has "
            "learnt nothing of them."
        )
    if columns := [name for name in constant if name not in codes]:
        yield (
            "These columns are empty, the same for all patients, or differ by less than a millionth of their numbers: "
            f"{some(columns)}. The first two tell the model nothing: were they filled in? The last, "
            "such as dates or numbers of files, may tell it much, but cannot be brought to a common scale: give days "
            "since a first date, or subtract a number that is the same at all sites."
        )
    exact = {entry["task"] for entry in result["disclosed"] if entry["how"] == "exact"}
    yield from cautions_of_sums(exact, every_system())
    if result["aggregation"] == "plain":
        yield (
            "Nothing was masked in this run: the coordinator saw every site’s sums. Use the secure sum “plain” for "
            "comparison only."
        )


def _not_better_than_the_largest_class(result: Result) -> str:
    """Tell that who always names the most frequent class is as often right, or may be, and what that means."""
    right, classes = all_right(result), class_figures(result)
    if right is None or not classes:
        return ""
    largest = max(classes, key=lambda c: c.patients)
    always = largest.patients / sum(c.patients for c in classes)
    if right.low > always:
        return ""
    shares = (
        f"who always says “{largest.name}” is right for {percent(always)} of the test {unit(result)}s, the model for "
        f"{percent(right.value)} (95% confidence interval {percent(right.low)} to {percent(right.high)})"
    )
    balanced, area = balanced_interval(result), area_interval(result)
    if balanced is not None and balanced[0] > 1 / len(classes):
        # Such as by class weights: more of a rare class are found, and more others taken for it.
        told = "" if result["confusion"] is None else ", and how often it is right when it says so"
        return (
            f"The share that is right says little here: {shares}. But the model tells the classes apart better than "
            f"chance does: judge it by how many of each class it finds{told}."
        )
    known = "is not" if right.value <= always else "may not be"
    text = f"The model {known} better than no model: {shares}."
    if area is not None and len(classes) == 2 and area[0] > 0.5:
        text += (
            " With another threshold it may be: see the area under the curve, and the table of thresholds."
        )
    return text


def _not_calibrated(result: Result) -> str:
    """Tell that nobody knows how far probabilities agree with outcomes, and the likely reason."""
    agreement = result.get("agreement")
    if not agreement or agreement["slope"] is not None:
        return ""
    given = [group["probability"] for group in result["decision_groups"][0]]
    if classes_not_tested(result):
        reason = f"all test {unit(result)}s are of one class"
    elif max(given) - min(given) < ALIKE:
        reason = f"the model gives all test {unit(result)}s about the same one"
    elif result.get("bin_noise"):
        reason = f"the noise of the test is too large beside its number of {unit(result)}s"
    else:
        reason = (
            f"the probabilities tell the test {unit(result)}s apart without error, or nearly so: there are too few of "
            "them, or a column gives the class away"
        )
    return (
        f"How far probabilities agree with outcomes could not be measured, as {reason}. Take no probability as it "
        "stands; test the model on more patients first."
    )


def _positive_by_order(result: Result) -> str:
    """Tell which class is positive where only the order of the labels says so: none looks negative, or both do."""
    classes = result["classes"] or []
    if len(classes) != 2 or result.get("positive_labels") or names_show_positive(classes):
        return ""
    name = result.get("positive_class")
    return (
        f"Nobody said which class is positive, and “{name}” was taken, the last in order: sensitivity, predictive "
        f"values, F1 and ROC curve are those of “{name}”. If they should be those of “{classes[0]}”, run again with "
        f"--positive {shlex.quote(classes[0])}, or write positive into the schema file."
    )


def _never_named(result: Result) -> str:
    """Tell which classes the model gives to nobody, though patients have them."""
    confusion, noise = result["confusion"], result["count_noise"]
    if not confusion or noise:
        return ""
    named = [sum(row[index] for row in confusion) for index in range(len(confusion))]
    names = [
        f"“{name}”"
        for name, times, row in zip(result["classes"], named, confusion, strict=True)
        if times == 0 and sum(row) > 0
    ]
    return f"The model never says {some(names)}, though some test patients have it." if names else ""


def _not_tested(result: Result) -> str:
    """Tell which classes nobody of the test has, and what the figures then leave out."""
    names = classes_not_tested(result)
    if not names or result["accuracy"] is None:
        return ""
    what = "leave them out" if result["balanced_accuracy"] is not None else "are not measured"
    return (
        f"No test patient has {some([quoted(name) for name in names])}: nobody knows how good the model is for such "
        f"patients. Balanced accuracy, F1 and area under the curve {what}."
    )


def _few_patients(result: Result) -> str:
    """Tell of which classes there are few patients or rows, in the test or in training."""
    tested = {c.name: c.patients for c in class_figures(result)}
    trained = dict(zip(result["classes"] or [], result["rows_train_by_class"] or [], strict=False))
    texts, nobody = [], classes_not_tested(result)
    if not tested and 0 < (result["rows_test"] or 0) < 2 * FEW:
        tried = f"{result['rows_test']} {unit(result)}s"
        return f"The model was tried on {tried} only: its figures can be far off."
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
    return f"There are few {unit(result)}s of {some(texts)}: what is said of so few can be far off."
