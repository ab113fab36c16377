"""What a site does not accept of a request, before it computes anything."""

from clients.gate.terms import agreed_terms
from clients.site import Site
from flower_pansvm.errors import NOT_FOLLOWED, SettingError
from flower_pansvm.systems.pan_svm.cuts import LARGEST_WEIGHT, LEAST_WEIGHT, Problem
from flower_pansvm.systems.pan_svm.tasks import ProblemsQuestion

MOST_NUMBERS = (
    2**28
)  # most numbers in a site's answer, two gigabytes: a few bytes of a request must not ask for more


def check_size(site: Site, numbers: float) -> None:
    """Check that a request asks for no more numbers than a site gives at once, before room is made for them."""
    if not 0 <= numbers <= MOST_NUMBERS:
        raise SettingError(
            f"Site '{site.name}' was asked for more than {MOST_NUMBERS} numbers at once, or for less than none. Use "
            "fewer landmarks, points per round trip or folds."
        )


def asked_problems(site: Site, question: ProblemsQuestion) -> list[Problem]:
    """Return the problems of a question, whose classes have weights that the run's ``class-weight`` allows."""
    balanced = agreed_terms(site.context).class_weight == "balanced"
    least, largest = (LEAST_WEIGHT, LARGEST_WEIGHT) if balanced else (1.0, 1.0)
    problems = question.problems()
    if not all(least <= weight <= largest for problem in problems for weight in problem.weights):
        allowed = f"weights from {least:g} to {largest:g}" if balanced else "no weight but 1"
        raise SettingError(
            f"Site '{site.name}' refuses the weights of the classes: class-weight in the run's settings allows "
            f"{allowed}. {NOT_FOLLOWED}"
        )
    return problems
