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
    examined=("model_test",),
)
