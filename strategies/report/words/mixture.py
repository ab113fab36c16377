"""What report and audit say of `mixture`.

The weak models are disclosed, site by site; the counts of the global one are of test rows only.

What means and covariances tell of rows besides, such as whether a person whose row is known was among them, is not
measured here.
"""

from strategies.report.words.system import SystemWords

WORDS = SystemWords(
    words={
        "weak_models": (
            "The site’s own description of each class: means and spreads of groups of similar patients",
            "to draw invented patients from it, on which the model is trained",
        ),
        "mixture_scores": (
            "Test patients by class and predicted class, and how many decision values lie in each of 512 bins",
            "to say how good the model is",
        ),
    },
    examined=("weak_models", "mixture_scores"),
    few_sums=("mixture_scores",),
    texts={
        "components_disclosed": ("{} components disclosed", "no component disclosed"),
        "fewest_rows_of_a_component": ("{} rows behind the smallest of them", "no rows behind them"),
        "rows_at_a_mean": ("{} training rows at a mean", "no training row at a mean"),
    },
)
