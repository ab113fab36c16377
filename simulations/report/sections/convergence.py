"""How the bounds of the cutting planes have met."""

from simulations.report.plots import convergence_figure
from simulations.report.section import Result, Section, svg

TEXT = """\
<p>The upper bound is the objective of the best weights seen, the lower bound the one no weights can beat.
Training stops when they have met.</p>
"""


def headline(result: Result) -> dict[str, str]:
    """Return the number of landmarks, and the gap of the problem that has come least far."""
    objective = result["objective"]
    problems = objective if isinstance(objective, list) else [objective]
    worst = max(problems, key=lambda problem: problem["gap"])
    converged = "" if result["converged"] else " (not converged)"
    return {
        "landmarks": f"{result['landmarks']} (rank {result['rank']})",
        "gap between bounds": f"{worst['gap']:.1e}{converged}",
    }


@Section(
    "convergence",
    "Convergence",
    place=30,
    figures=("convergence", "objective", "tolerance", "converged", "cut_rounds", "landmarks", "rank"),
    headline=headline,
)
def html(result: Result) -> str:
    """Return the plot of the gaps."""
    says = f"Gap between the bounds after each of {result['cut_rounds']} round trips"
    return TEXT + svg(convergence_figure(result), says)
