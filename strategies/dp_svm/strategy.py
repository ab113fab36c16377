"""DP-SVM: a kernel SVM from differentially private sums only, those for the scaling included.

Ridge regression on noisy second moments of random Fourier features gives the first weights. Steps along noisy
gradients of a Huberised hinge loss follow, preconditioned by the inverse of the same moments. docs has the proof.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.class_columns import positive_classes
from flower_pansvm.constraints import setting, whole
from flower_pansvm.errors import BudgetError, TrainingError
from flower_pansvm.fourier_map import BINS, CONSTANT, FourierMap
from flower_pansvm.models.fourier_svc import FourierSVC
from flower_pansvm.privacy.accountant import epsilon_of, rho_of
from flower_pansvm.privacy.exact import LARGEST_WEIGHT, WEIGHT_STEP, rounded
from flower_pansvm.systems.dp_svm import (
    PRIVATE_BINS,
    PRIVATE_MAP,
    PRIVATE_MOMENTS,
    PRIVATE_SCORES,
    PRIVATE_STEP,
    BinsQuestion,
    PrivateMomentsQuestion,
    PrivateWeightsQuestion,
)
from strategies.api import (
    AggregateResult,
    Budget,
    Federation,
    Outcome,
    PhasedStrategy,
    PrivateTest,
    Problems,
    PromiseSettings,
    edges_around,
    join_with_ranges,
    logger,
    private_test,
    warn_of_early_end,
)
from strategies.dp_svm.fit import NoisyRidge, fitted_map, shares, symmetric


@dataclass(frozen=True)
class TrainingPlan:
    """The use of the budget. It is public: it depends on the number of classes only."""

    scaling: float  # share of the budget of the training rows
    moments: float  # another share of it; the steps have the rest, or without steps the moments
    momentum: float  # share of a step that is added to the next
    penalty: float  # factor of the steps' penalty
    averaged: int  # number of the last weights whose mean is the model


TWO_CLASSES = TrainingPlan(scaling=0.25, moments=0.15, momentum=0.5, penalty=1.0, averaged=2)
SEVERAL_CLASSES = TrainingPlan(scaling=0.1, moments=0.2, momentum=0.7, penalty=0.4, averaged=1)
"""With several classes a row's gradients are clipped together and small, so steps are larger; more weights need more
of them."""

FEW_ROWS, SMALLEST_STEP = 1500, 1.5
"""With fewer training rows a step's penalty is multiplied by sqrt(FEW_ROWS / rows), at most by `SMALLEST_STEP`: smaller
steps limit the effect of noise and outliers on the weights."""

LEAST_ROWS = 35.0
"""Rows times the square root of the budget below which a model is noise: 200 rows with epsilon 1."""


@dataclass(frozen=True)
class DpSvmSettings(PromiseSettings):
    """The budget and its use."""

    steps: int = setting(8, whole(0), "Noisy steps after the first weights; 0 for fewest round trips.")

    @property
    def dp(self) -> bool:
        """See :attr:`strategies.settings.Settings.dp`."""
        return True


class DpSvm(PhasedStrategy):
    """Public ranges, a private histogram of each column, private moments and private steps, which spend the budget."""

    settings_class = DpSvmSettings
    settings: DpSvmSettings

    def fit(self, federation: Federation) -> Outcome:
        """Train, and try the model on the test rows, which have a budget of their own.

        Raises
        ------
        TrainingError
            If there are too few rows for a model, before most of the budget is spent.
        """
        settings, costs = self.settings, federation.costs
        with costs.phase("join"):
            schema, low, high = join_with_ranges(federation, settings)
        sides = len(positive_classes(len(schema.classes)))
        self.plan = TWO_CLASSES if sides == 1 else SEVERAL_CLASSES
        rho = rho_of(settings.epsilon, settings.delta)
        self.budget = Budget(federation, rho, settings.colluders, resumed=settings.resume)
        with costs.phase("private scaling"):
            feature_map, rows = self._scale(low, high)
            federation.broadcast(PRIVATE_MAP, feature_map)
        with costs.phase("private moments"):
            ridge = self._moments(feature_map.size, sides)
        with costs.phase("private steps"):
            weights = self._steps(ridge, rows)
        test = PrivateTest()
        if settings.test_fraction > 0:
            edges = edges_around(*ridge.spread(weights[:, 0], rows))
            with costs.phase("private scores"):
                test = private_test(self.budget, PRIVATE_SCORES, self.budget.rho, weights, edges)
        promise = {**self._privacy(federation), "rows": round(rows), "accuracy_noise": test.accuracy_noise}
        model = FourierSVC.from_parts(schema, feature_map, weights)
        return Outcome(model, test.evaluation, {"privacy": promise, **test.figures})

    def _scale(self, low: Floats, high: Floats) -> tuple[FourierMap, float]:
        """Return the feature map, and the noisy number of training rows."""
        rho, columns = self.plan.scaling * self.budget.rho, len(low)
        question = BinsQuestion(rho, low, high)
        sums = self.budget.ask(PRIVATE_BINS, question, wrong_bins, rows=(1,), cells=(columns, BINS))
        rows = max(float(sums.rows[0]), 1.0)
        counting = rows * math.sqrt(self.budget.rho) / self.settings.rows_per_patient
        if counting < LEAST_ROWS or columns > rows:
            raise TrainingError(
                f"About {rows:.0f} training rows with {columns} columns give no useful model at epsilon "
                f"{self.settings.epsilon:g}: it takes {LEAST_ROWS * rows / counting:.0f} rows, and more rows than "
                f"columns. The run stops with {1 - self.plan.scaling:.0%} of its budget unspent. Find more hospitals, "
                "use fewer columns, or, if the hospitals agree, a larger epsilon."
            )
        p = shares(sums.cells, rows, self.budget.deviation(PRIVATE_BINS, "cells", rho, sums))
        return fitted_map(p, low, high, counting, self.settings.seed), rows

    def _moments(self, size: int, columns: int) -> NoisyRidge:
        """Return the regression of the first weights."""
        share = self.plan.moments if self.settings.steps else 1 - self.plan.scaling
        rho, above = share * self.budget.rho, size * (size - 1) // 2
        sums = self.budget.ask(
            PRIVATE_MOMENTS,
            PrivateMomentsQuestion(rho),
            wrong_products,
            diagonal=(size,),
            above=(above,),
            classes=(size, columns),
        )
        A = symmetric(sums.diagonal, sums.above)
        return NoisyRidge(A, sums.classes, self.budget.deviation(PRIVATE_MOMENTS, "classes", rho))

    def _steps(self, ridge: NoisyRidge, rows: float) -> Floats:
        """Return the mean of the last weights, or the first ones without steps."""
        plan = self.plan
        weights = [first_weights(ridge)]
        momentum, total = np.zeros_like(weights[0]), self.settings.steps
        rho = (1 - plan.scaling - plan.moments) * self.budget.rho / max(total, 1)
        noise = self.budget.deviation(PRIVATE_STEP, "slope", rho)
        penalty = min(ridge.penalty, max(rows / 5, noise * math.sqrt(len(weights[0]))))
        penalty *= plan.penalty * float(np.clip(math.sqrt(FEW_ROWS / rows), 1.0, SMALLEST_STEP))
        for step in range(total):
            # A sum that was repeated without a site has cost twice, and the budget does not suffice for all steps.
            if not self.budget.allows(rho):
                warn_of_early_end(step)
                break
            try:
                question = PrivateWeightsQuestion(rho, weights[-1])
                slope = self.budget.ask(PRIVATE_STEP, question, slope=weights[0].shape).slope
            except BudgetError as error:
                logger.info("%s", error)
                warn_of_early_end(step)
                break
            momentum = plan.momentum * momentum + ridge.solve(slope, penalty)
            weights.append(rounded_weights(weights[-1] + momentum))
        return rounded_weights(np.mean(weights[-plan.averaged :], axis=0))

    def _privacy(self, federation: Federation) -> dict[str, Any]:
        """Return budget, spending, and data that are not covered, for ``result.json``."""
        settings, delta = self.settings, self.settings.delta
        not_covered = settings.from_simulated_rows
        if not federation.protocol.protected:
            not_covered.append("anything: the sums were open to the coordinator, site by site")
        return {
            "epsilon": settings.epsilon,
            "delta": delta,
            "epsilon_train": epsilon_of(self.budget.total("train"), delta),
            "epsilon_test": epsilon_of(self.budget.total("test"), delta),
            "colluders": settings.colluders,
            "spent": [asdict(spent) for spent in self.budget.by_task()],
            "not_covered": not_covered,
        }


def first_weights(ridge: NoisyRidge) -> Floats:
    """Return the regression's weights; with several classes, for targets -1 and 1 instead of 0 and 1."""
    weights = ridge.weights
    if weights.shape[1] > 1:
        weights = 2 * weights
        weights[-1] -= 1 / CONSTANT
    return rounded_weights(weights)


def rounded_weights(weights: Floats) -> Floats:
    """Return the nearest weights that sites compute with exactly, which they require."""
    return rounded(weights, WEIGHT_STEP, LARGEST_WEIGHT)


def wrong_bins(result: AggregateResult) -> Problems:
    """Yield a problem with counts by bin: each row is in at most one bin of a column."""
    if result.exceeds("cells", result.sums["rows"], "rows"):
        yield "'cells' has more cells in a bin than there are rows"


def wrong_products(result: AggregateResult) -> Problems:
    """Yield the problems of second moments: a product is at most the mean of the two squares."""
    diagonal, size = result.sums["diagonal"], result.sums["diagonal"].size
    yield from result.wrong_shape(above=(size * (size - 1) // 2,), classes=(size, -1))
    row, column = np.triu_indices(size, 1)
    squares = (diagonal[row] + diagonal[column]) / 2
    if (np.abs(result.sums["above"]) > squares + result.tolerance("above", "diagonal")).any():
        yield "'above' holds a sum of products larger than the squares"
