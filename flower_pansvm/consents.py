"""The levels, and what a hospital can agree to disclose besides, by keys of its node config."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Consent:
    """Something about its rows that a hospital gives away only if it has agreed to."""

    discloses: str  # what is given away, for error texts
    instead: str  # settings of a run that does without


AGREED = "agreed"  # the only value of such a key

LEVELS = ("exact", "perturbed", "dp")
"""From the weakest to the strongest: sums over the true records, sums over their perturbed copies, sums of the true
records with noise for differential privacy, which are charged to the hospital's ledger."""

CONSENTS = {
    "distorted-rows": Consent(
        "a distorted copy of its rows with their labels, to the coordinator and, in the model, to every other "
        "hospital: whoever knows a patient's row may find the patient in it",
        "strategy=dp-svm",
    ),
    "extremes": Consent(
        "the smallest and largest cell of each column, single patients' values", "scaling=standard"
    ),
    "kernel-rows": Consent(
        "numbers of each of its rows, from which other hospitals with the same columns can compute most of the row",
        "strategy=pan-svm",
    ),
    "own-weights": Consent(
        "weights of its own model with noise, which are charged but not as well protected as sums: they tell how many "
        "rows there are",
        "strategy=dp-svm",
    ),
    "row-labels": Consent("the label of each of its rows", "strategy=pan-svm"),
    "subgroups": Consent(
        "test counts, and how many rows patients have, by any column and model that the coordinator "
        "chooses, or of it alone",
        "by=''",
    ),
    "test-rows": Consent(
        "all cells of its test rows, the same in every run, to the coordinator and every other "
        "hospital, or what its own model says of rows that it is shown",
        "strategy=local-only",
    ),
    "weak-models": Consent(
        "means, covariances and sizes of groups of its rows, exactly and under its name, to the coordinator",
        "strategy=dp-svm",
    ),
}
"""All of them, by their keys in the node config."""
