"""What level `perturbed` costs some systems, tested on true records: ``python -m simulations.benchmarks level_costs``.

It takes hours, and goes on where it was stopped.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from simulations.benchmarks.comparison import means_of
from simulations.benchmarks.results import Table, in_parts
from simulations.comparison.plan import Plan

NINE = (
    *("heart", "diabetes", "australian", "liver-disorders", "ionosphere", "breast-cancer", "fourclass"),
    *("splice", "german.numer"),
)
LARGER = ("spambase", "a9a", "letter")
AT_LEVELS = {
    **dict.fromkeys((*NINE, "sonar"), ("pan-svm", "svm-ensemble", "svm-admm", "voted-wrapper")),
    **dict.fromkeys(LARGER, ("pan-svm", "svm-ensemble")),
}
NOISES = {"exact": (0.25,), "perturbed": (0.25, 0.5)}
"""At level `exact` the noise means nothing."""
FIGURES = ("runs", "failed", "accuracy", "accuracy_sd", "balanced_accuracy", "auc", "round_trips")
REPEATS = 10


def at_levels(
    data_dir: Path, data: str, strategies: Sequence[str], repeats: int, cluster: str = "", **settings: str
) -> Iterator[dict[str, Any]]:
    """Return the mean accuracy of systems on a data set at each level and noise; deviations are of a split."""
    for level, noises in NOISES.items():
        plan = Plan(
            data=(data,),
            strategies=tuple(strategies),
            repeats=repeats,
            common={"data-dir": str(data_dir), "privacy": level, **settings},
            varied={} if level == "exact" else {"noise": noises},
        )
        for line, figures in means_of(plan, FIGURES, cluster):
            yield {
                "data": data,
                "system": line["strategy"],
                "level": level,
                "noise": None if level == "exact" else float(line["settings"].removeprefix("noise=")),
                **figures,
            }


def levels(data_dir: Path, out: Path, cluster: str = "") -> Table:
    """Return the lines of all data sets."""

    def of_data(data: str) -> Table:
        return list(at_levels(data_dir, data, AT_LEVELS[data], REPEATS, cluster))

    return in_parts("level_costs", AT_LEVELS, of_data, out)


TABLES = {"levels": levels}
