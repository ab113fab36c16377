"""Last bits: a row's part in rounded sums depends on the number of other rows.

Differential privacy bounds a row's part in an answer. With rounded products this part is no function of the row: BLAS
adds in another order with one row more. The coordinator sends a map that makes all rows one known point, broadcasts
classes without rows, so that the products have another shape, and chooses huge weights that cancel. Then the last bit
of a decision value decides about all rows.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from clients.systems.dp_svm import private_moments, private_scores, private_step
from clients.systems.output_perturbation import rff_private_scores
from flower_pansvm.arrays import Floats
from flower_pansvm.class_columns import positive_classes
from flower_pansvm.errors import PanSVMError
from flower_pansvm.fourier_map import BINS, FourierMap
from flower_pansvm.random_fourier import RandomFourierMap
from flower_pansvm.systems.common import SCHEMA
from flower_pansvm.systems.dp_svm import (
    PRIVATE_MAP,
    PRIVATE_MOMENTS,
    PRIVATE_SCORES,
    PRIVATE_STEP,
    PrivateMomentsQuestion,
    PrivateScoresQuestion,
    PrivateWeightsQuestion,
)
from flower_pansvm.systems.output_perturbation import RFF, RFF_PRIVATE_SCORES, RffPrivateScoresQuestion
from flower_pansvm.tasks import Task
from simulations.attack.active.hospitals import COLUMNS, Broadcasts, Hospitals, drawn_table, schema_broadcast
from simulations.attack.active.registry import Attempt
from strategies.dp_svm.fit import fitted_map

ROWS = (1, 11, 239, 1000)
"""Rows of the victim without the patient. In a product with one vector OpenBLAS treats the last three of 4 k + 3 rows
differently than those of 4 k + 4; in one with 300 vectors the last eleven of 12 k + 11 than those of 12 k + 12."""

CLASSES_SENT = ((2, 2), (4, 2), (4, 4))
"""Numbers of classes in the broadcast and in the hospitals' schema file. All rows are of two."""

SMALL_PRODUCT = 1_000_000
"""Most multiplications of OpenBLAS's kernel for small products, on processors with AVX-512."""

FREQUENCIES = 300
USUAL_SIZE = len(COLUMNS) + 2 * FREQUENCIES + 1
HUGE, FURTHER = 1e300, -1e9
STEEP = (1.0, 8.0, 2.0**48 / 3, 2.0**56 / 3)
"""Factors of frequencies. Products of short numbers are not rounded, so powers of 2 are not enough."""

SCALES = (0, 11, 56)
"""Scales of the weights, as powers of 2. Weights are integers, which are on any grid."""

STEP = 2.0**-10
"""Grid of the frequencies, and so of any finer grid."""

DRAWS = 2

NEAR_ZERO = np.array([-(2.0**-40), 0.0, 2.0**-40])
"""Decision values between which test rows are counted: those that rounding alone makes differ."""

TEST_SHARE = 0.999999
"""Share of rows kept for evaluation that leaves no other rows."""

DELTA = 1e-5
EXACTLY = 1e-9  # error of a change by the attacker's own rounding


@dataclass(frozen=True)
class ChosenQuestion:
    """Broadcasts and the following question."""

    broadcasts: Broadcasts  # besides the schema
    question: Any
    classes: int = 2  # in the broadcast schema
    listed: int = 2  # in the hospitals' schema file


def change_slopes(folder: Path) -> Attempt:
    """Search for the slope that one row changes most."""
    return search(folder, PRIVATE_STEP, private_step, fourier_choices)


def change_moments(folder: Path) -> Attempt:
    """Search for the moments that one row changes most."""
    return search(folder, PRIVATE_MOMENTS, private_moments, moments_choices)


def change_scores(folder: Path) -> Attempt:
    """Search for the counts that one test row changes most."""
    return search(folder, PRIVATE_SCORES, private_scores, scores_choices, TEST_SHARE)


def change_local_scores(folder: Path) -> Attempt:
    """Search for the counts that one test row changes most."""
    return search(folder, RFF_PRIVATE_SCORES, rff_private_scores, random_fourier_choices, TEST_SHARE)


def search(
    folder: Path,
    task: Task[Any, Any],
    work: Callable[..., Any],
    choices: Callable[[int], Iterator[ChosenQuestion]],
    test_fraction: float = 0.0,
) -> Attempt:
    """Evaluate questions on pairs of tables that differ by one row, at hospitals that show exact answers.

    Raises
    ------
    PanSVMError
        If the hospitals refuse all questions.
    """
    changes: list[tuple[float, int]] = []
    refused = not_alone = 0
    for listed in sorted({listed for _, listed in CLASSES_SENT}):
        names = {rows: f"rows-{rows}" for rows in ROWS}
        without, with_one, alone = (
            Hospitals(
                folder / f"{listed}-classes-{kind}", tables, test_fraction=test_fraction, classes=listed
            )
            for kind, tables in (
                ("without", {name: rows for rows, name in names.items()}),
                ("with", {name: rows + 1 for rows, name in names.items()}),
                ("alone", {name: drawn_table(rows + 1, name).tail(1) for rows, name in names.items()}),
            )
        )
        for rows in ROWS:
            for choice in choices(rows):
                if choice.listed != listed:
                    continue
                schema = schema_broadcast(without.settings, choice.classes)
                broadcasts: Broadcasts = {SCHEMA: schema, **choice.broadcasts}
                try:
                    before, after, of_row = (
                        study.exact(names[rows], broadcasts, work, choice.question)
                        for study in (without, with_one, alone)
                    )
                except PanSVMError:
                    refused += 1
                    continue
                changes.append((charged_change(task, before, after), rows))
                not_alone += not is_difference(of_row, before, after)
    if not changes:
        raise PanSVMError(f"Hospitals refuse all {refused} questions: the attack needs an update.")
    change, rows = max(changes)
    got = (
        f"one row of {rows + 1} changes an answer by {change:.4g}; a row's part depends on other rows in {not_alone} "
        f"({len(changes)} questions answered, {refused} refused)"
    )
    return Attempt(got, "1", change <= 1 + EXACTLY and not_alone == 0)


def charged_change(task: Task[Any, Any], before: Any, after: Any) -> float:
    """Return the 2-norm of an answer's change, in units of the task's sensitivity."""
    changes = (
        np.linalg.norm(getattr(after, field.name) - getattr(before, field.name))
        / task.declared[field.name].sensitivity(after)
        for field in fields(after)
    )
    return math.hypot(*map(float, changes))


def is_difference(of_row: Any, before: Any, after: Any) -> bool:
    """Return whether an answer about one row is the exact difference of two others; dp sums are exact on their grid."""
    return all(
        np.array_equal(getattr(of_row, field.name), getattr(after, field.name) - getattr(before, field.name))
        for field in fields(of_row)
    )


def fourier_choices(rows: int) -> Iterator[ChosenQuestion]:
    """Yield maps and weights for a hospital with so many rows."""
    for classes, listed in CLASSES_SENT:
        sides = len(positive_classes(classes))
        for feature_map in fourier_maps(critical_size(rows, sides)):
            for weights in weights_that_cancel(one_row(feature_map), sides):
                question = PrivateWeightsQuestion(1.0, weights)
                yield ChosenQuestion({PRIVATE_MAP: feature_map}, question, classes, listed)


def scores_choices(rows: int) -> Iterator[ChosenQuestion]:
    """Yield the same for test rows, with edges between decision values that differ by rounding."""
    for choice in fourier_choices(rows):
        weights = choice.question.weights
        yield replace(choice, question=PrivateScoresQuestion(1.0, weights, edges=NEAR_ZERO))


def moments_choices(rows: int) -> Iterator[ChosenQuestion]:  # noqa: ARG001 - a map's size does not follow from it
    """Yield maps."""
    for feature_map in fourier_maps(USUAL_SIZE):
        yield ChosenQuestion({PRIVATE_MAP: feature_map}, PrivateMomentsQuestion(1.0))


def random_fourier_choices(rows: int) -> Iterator[ChosenQuestion]:  # noqa: ARG001 - as above
    """Yield maps and weights of private-svm and hybrid-svm."""
    drawn = np.random.default_rng(0).normal(size=(FREQUENCIES, len(COLUMNS)))
    frequencies = np.rint(drawn / STEP) * STEP
    ends = np.ones(len(COLUMNS))
    for end, scale in product((1.0, HUGE), STEEP):
        low = 0.0 * ends if end == 1 else -end * ends
        feature_map = RandomFourierMap(low, end * ends, scale * frequencies)
        for weights in weights_that_cancel(one_row(feature_map), 1):
            yield ChosenQuestion(
                {RFF: feature_map}, RffPrivateScoresQuestion(1.0, weights[:, 0], edges=NEAR_ZERO)
            )


def critical_size(rows: int, sides: int) -> int:
    """Return the number of features at which one more row changes the kernel of a product, if there is one."""
    most = SMALL_PRODUCT // (rows * sides)
    return most if most * sides * (rows + 1) > SMALL_PRODUCT and most < 2000 else USUAL_SIZE


def fourier_maps(size: int) -> Iterator[FourierMap]:
    """Yield maps of about ``size`` features: honest ones, and some that make all rows one known point."""
    columns = len(COLUMNS)
    fitted = fitted_map(np.full((columns, BINS), 1 / BINS), np.zeros(columns), np.ones(columns), 1000.0, 0)
    frequencies = np.resize(fitted.frequencies, ((size - columns - 1) // 2, columns))
    honest = replace(fitted, frequencies=frequencies)
    ends = np.full(columns, HUGE)
    flat = np.zeros((columns, BINS))
    yield honest
    yield replace(honest, low=-ends, high=ends)
    one_point = replace(honest, mean=np.full(columns, FURTHER), ranks=flat, rises=flat)
    for steep in STEEP:
        yield replace(one_point, frequencies=steep * frequencies)


def one_row(feature_map: FourierMap | RandomFourierMap) -> Floats:
    """Return the features of one row, shape (features,)."""
    with np.errstate(all="ignore"):  # a map that hospitals refuse may overflow
        z: Floats = feature_map.transform(np.full((1, len(COLUMNS)), 0.25))[0]
    return z


def weights_that_cancel(z: Floats, sides: int) -> Iterator[Floats]:
    """Yield weights at which a row's decision values are near 0, with a growing share of rounding."""
    generator = np.random.default_rng(0)
    for scale in SCALES:
        for _ in range(DRAWS):
            drawn = generator.normal(size=(len(z), sides))
            across = drawn - np.outer(z, z @ drawn) / max(float(z @ z), 1e-9)
            yield np.rint(2.0**scale * across)
