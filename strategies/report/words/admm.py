"""What report and audit say of `admm`.

No figure short of the attack tells how many rows the models give away.
"""

from strategies.report.words.system import SystemWords

WORDS = SystemWords(
    words={
        "consensus": (
            "The site’s own weights of the model, step by step",
            "to draw the sites’ models together",
        ),
    },
    examined=(),
)
