"""What report and audit say of `evaluation`.

Differentially private counts of test records, of models that were trained on copies; and counts by subgroup.
"""

from strategies.report.words.system import SystemWords

WORDS = SystemWords(
    words={
        "model_test": (
            "Test patients by class, and by what the model says and how clearly",
            "to say how good the model is for true records",
        ),
        "subgroups": (
            "Test patients by subgroup or site and class, by what the model says, and by how many rows each has",
            "to say how good the model is for each subgroup",
        ),
    },
    examined=("model_test", "subgroups"),
    texts={
        "alone_in_groups": (
            "{} times a record was alone in a count by subgroup, class and prediction",
            "no counts by subgroup have left",
        ),
        "groups_of_one_patient": (
            "{} times all records of a class in a subgroup were one patient’s",
            "no sums by patient have left",
        ),
    },
)
