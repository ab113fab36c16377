"""Problems, questions and answers come out of a message as they went in."""

from dataclasses import replace
from typing import TypeVar

import numpy as np
from flwr.app import RecordDict
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from flower_pansvm import records
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.systems.pan_svm.cuts import Answer, Cuts, Problem, Question
from flower_pansvm.systems.pan_svm.tasks import CutsAnswer
from flower_pansvm.systems.scaling import NO_FOLD
from strategies.master.packing import curvature_size, pack_problems, pack_questions, unpack_answers

M = TypeVar("M")

positive = st.floats(1e-6, 1e6)
problems = st.builds(
    Problem,
    name=st.just(""),
    rank=st.integers(1, 6),
    rows=positive,
    C=positive,
    pair=st.builds(Pair, st.integers(0, 25), st.integers(REST, 25)),
    feature_map=st.integers(0, 9),
    fold=st.integers(NO_FOLD, 9),
    weights=st.tuples(positive, positive),
)


@st.composite
def dialogues(draw: st.DrawFn) -> tuple[list[Problem], list[Question], list[Answer]]:
    """Return problems of different rank, each with a question of different size and an answer to it."""
    asked = draw(st.lists(problems, min_size=1, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    questions, answers = [], []
    for problem in asked:
        rank, count, leading = problem.rank, draw(st.integers(1, 4)), draw(st.integers(-1, problem.rank))
        width = draw(positive)
        *endpoints, centre = (
            rng.normal(size=(draw(st.integers(1, 4)) + 1, rank + 1)).astype(np.float32).astype(np.float64)
        )
        on_segments = draw(st.booleans())
        segment, fraction = (
            rng.integers(0, len(endpoints), count * on_segments),
            rng.random(count * on_segments),
        )
        questions.append(Question(np.array(endpoints), centre, width, leading, segment, fraction))
        count = questions[-1].count
        a, (d, m, loss) = rng.normal(size=(count, rank)), rng.normal(size=(3, count))
        answers.append(Answer(Cuts(a, d, m, loss), rng.normal(size=curvature_size(rank, leading))))
    return asked, questions, answers


def sent(message: M) -> M:
    """Return a message's dataclass after its journey."""
    content = RecordDict()
    records.write(content, "content", message)
    return records.read(content, "content", type(message))


def same(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    return one.shape == other.shape and bool((one == other).all())


@given(dialogues())
def test_problems_survive_the_message(dialogue: tuple[list[Problem], list[Question], list[Answer]]) -> None:
    asked, _, _ = dialogue
    assert sent(pack_problems(asked)).problems() == asked


def test_names_are_not_sent() -> None:
    problem = Problem("class cancer", 3, 10.0, 1.0, Pair(1, REST))
    assert pack_problems([problem]).problems() == [replace(problem, name="")]


@given(dialogues())
def test_questions_survive_the_message(dialogue: tuple[list[Problem], list[Question], list[Answer]]) -> None:
    asked, questions, _ = dialogue
    found = sent(pack_questions(asked, questions)).questions()
    for one, other in zip(found, questions, strict=True):
        assert same(one.points, other.points)
        assert (one.width, one.leading) == (other.width, other.leading)
        if other.needs_centre:
            assert same(one.centre, other.centre)


@given(dialogues())
def test_answers_survive_the_message_and_add_up_in_it(
    dialogue: tuple[list[Problem], list[Question], list[Answer]],
) -> None:
    _, questions, answers = dialogue
    packed = CutsAnswer.of(answers)
    twice = CutsAnswer(**{name: part + part for name, part in vars(packed).items()})
    for factor, values in ((1, packed), (2, twice)):
        for one, other in zip(unpack_answers(values, questions), answers, strict=True):
            assert same(one.curvature, factor * other.curvature)
            for part in ("a", "d", "m", "loss"):
                assert same(getattr(one.cuts, part), factor * getattr(other.cuts, part))


def test_a_centre_nobody_looks_at_is_not_sent() -> None:
    points = np.zeros((1, 4))
    problems = [Problem("", 3, 10.0, 1.0, Pair(1, REST))] * 2
    packed = pack_questions(
        problems, [Question(points, np.ones(4)), Question(points, np.full(4, 2.0), leading=0)]
    )
    assert packed.centres.tolist() == [2.0] * 4
