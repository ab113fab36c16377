"""The loop around cutting planes and master problem, for any number of SVM problems at once.

Paper: Lu 2016, Algorithms 2 and 3. All problems of a job advance together, one round trip after the other, and
each leaves when its bounds have met. :mod:`.search` and :mod:`.line_search` choose the points of the next round.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Protocol

from threadpoolctl import ThreadpoolController

from flower_pansvm.arrays import Floats
from flower_pansvm.systems.pan_svm.cuts import Answer, Problem, Question
from strategies.master.packing import in_single_precision
from strategies.master.progress import Progress

MAX_ROUNDS = 1000
"""Most round trips of a training."""

WORKERS, LARGE = 2, 500
"""Number of masters solved at the same time, and the number of coordinates above which more than one is. With fewer
coordinates, threads wait for Python's interpreter and for each other longer than they compute."""

Ask = Callable[[Mapping[int, Question]], Mapping[int, Answer]]
"""``ask({problem: question})`` returns, summed over all sites, the answer to each problem's question."""

Report = Callable[[int, Sequence[Progress]], None]
"""``report(round, states)`` is called after every round trip with the state of every problem."""


class Search(Protocol):
    """Chooses the points of a problem's questions, round after round."""

    def first(self, progress: Progress, starts: Floats) -> Question:
        """Return the first question, at the given points; shape (any, rank + 1)."""

    def next(self, progress: Progress, question: Question, answer: Answer) -> Question | None:
        """Return the question after ``answer``, which ``progress`` has learned; None to stop the problem early."""


def solve(
    problems: Sequence[Problem],
    starts: Sequence[Floats],
    ask: Ask,
    *,
    tol: float,
    search: Callable[[], Search],
    report: Report,
    most_rounds: int = MAX_ROUNDS,
    needed: int | None = None,
) -> list[Progress]:
    """Solve all problems together; each leaves the round trips when its bounds have met.

    Parameters
    ----------
    starts : sequence of ndarray of shape (any, rank + 1)
        Points to begin with, for each problem.
    tol : float
        Stop a problem at (upper - lower) <= tol * upper.
    most_rounds : int
        Round trips after which problems are returned as they are.
    needed : int, optional
        Once the first ``needed`` problems are solved, the others are returned as they are; by default all are needed.

    Returns
    -------
    list of Progress
        In the order of ``problems``, each with its incumbent. ``failure`` holds the error of a master problem that
        was not solved.
    """
    states = [Progress(problem) for problem in problems]
    searches = [search() for _ in problems]
    questions = {i: searches[i].first(states[i], starts[i]) for i in range(len(problems))}

    def advance(i: int, answer: Answer) -> Question | None:
        states[i].learn(questions[i], answer)
        if states[i].failure or states[i].gap <= tol:
            return None
        return searches[i].next(states[i], questions[i], answer)

    workers = WORKERS if max((problem.rank for problem in problems), default=0) > LARGE else 1
    # On matrices as small as the master's, threads only wait for each other: many times slower on a loaded machine.
    with _thread_pools().limit(limits=1), ThreadPoolExecutor(workers) as pool:
        for round_trip in range(1, most_rounds + 1):
            if not any(needed is None or i < needed for i in questions):
                break
            questions = {i: _sendable(question) for i, question in questions.items()}
            answers = ask(questions)
            replies = [answers[i] for i in questions]
            following = list(pool.map(advance, questions, replies))
            questions = {
                i: question for i, question in zip(questions, following, strict=True) if question is not None
            }
            report(round_trip, states)
    return states


@cache
def _thread_pools() -> ThreadpoolController:
    """Return the thread pools of what solves masters, loaded with this file; each search takes 1 to 3 ms."""
    return ThreadpoolController()


def _sendable(question: Question) -> Question:
    """Return a question with its points rounded to single precision, in half of the bytes.

    A cutting plane there is as good, and both sides compute the points on segments from the rounded numbers.
    """
    return replace(
        question,
        endpoints=in_single_precision(question.endpoints),
        centre=in_single_precision(question.centre),
    )
