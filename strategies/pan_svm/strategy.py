"""PAN-SVM: one non-linear SVM over the rows of all sites (Lu 2016, chapter 3; several classes: chapter 4)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.calibration import Calibration
from flower_pansvm.errors import SettingError
from flower_pansvm.metrics import Evaluation, histogram_middles
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.multiclass import REST
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.schema import Schema
from flower_pansvm.systems.pan_svm.tasks import ScoresAnswer
from flower_pansvm.systems.scaling import NO_FOLD
from strategies.api import (
    CuttingPlanes,
    Federation,
    Moments,
    Outcome,
    PanSvmSettings,
    PhasedStrategy,
    ScaledFeatures,
    Trial,
    binary_problems,
    broadcast_scalings,
    frame,
    gather_landmarks,
    join,
    learn_moments,
    logger,
    map_rows,
    pairs_of,
    score,
    warm_start,
)
from strategies.pan_svm.model_choice import Choice, choose
from strategies.pan_svm.platt import calibration_of, copy_noise


class PanSVM(PhasedStrategy):
    """The PAN-SVM strategy; the feature selections share its phases.

    Attributes
    ----------
    model : PanSVC
        The fitted model, after the run.
    evaluation : Evaluation
        Its accuracy over all sites' test rows, after the run.
    training : CuttingPlanes
        Bounds, cuts and dual variables of each binary problem of the model and, for probabilities, of the problems
        without each fold.
    choice : Choice or None
        Outcome of cross-validation; None if C and gamma are given.
    landmarks_used : int
        Number of landmarks, once they are gathered.
    constant_columns : list of str
        Columns without variance over all training rows.
    deviations : ndarray of shape (features,)
        Standard deviation of the model's columns over all training rows.

    Examples
    --------
    The ServerApp of this project runs it like this:

    >>> strategy = PanSVM(PanSvmSettings(C=10.0))  # doctest: +SKIP
    >>> result = strategy.start(grid)  # doctest: +SKIP
    >>> strategy.model.save("model.npz")  # doctest: +SKIP
    """

    model: PanSVC
    evaluation: Evaluation
    settings_class = PanSvmSettings
    settings: PanSvmSettings
    training: CuttingPlanes
    choice: Choice | None = None
    landmarks_used: int = 0
    constant_columns: list[str]
    deviations: Floats

    def summary(self) -> None:
        """Log the settings of the run; with ``search=published`` also the other settings as published."""
        super().summary()
        if missing := self.settings.unpublished:
            logger.info(
                "search=published is the search of the paper; all as published: %s", " ".join(missing)
            )

    def fit(self, federation: Federation) -> Outcome:
        """Train the model, and evaluate it on the test rows."""
        self.model = self.learn(federation)
        with federation.costs.phase("evaluation"):
            self.evaluation = self.evaluate(federation)
        return Outcome(self.model, self.evaluation, self.figures())

    def learn(self, federation: Federation) -> PanSVC:
        """Train the model; one phase after the other as in the paper's figure 3.1."""
        schema, moments = self.agree(federation)
        with federation.costs.phase("landmarks"):
            scaled = moments.scaled()
            broadcast_scalings(federation, [scaled.scaling])
            (landmarks,) = gather_landmarks(federation, self.settings, [scaled])
        return self.train(federation, schema, moments, scaled, landmarks)

    def agree(self, federation: Federation) -> tuple[Schema, Moments]:
        """Agree on columns, classes and moments, and choose C and gamma if cross-validation shall choose them."""
        phase = federation.costs.phase
        with phase("join"):
            schema = self.join(federation)
        if (self.settings.threshold or self.settings.sensitivity) and len(schema.classes) != 2:
            raise SettingError(
                f"threshold and sensitivity need two classes, and there are {len(schema.classes)}. Leave them out, "
                "or name the positive labels in the schema file."
            )
        with phase("scaling"):
            moments = learn_moments(federation, self.settings.scaling)
            self.constant_columns = moments.constant_columns(schema.columns)
        if self.settings.tunes:
            with phase("model choice"):
                self.choice = choose(federation, self.settings, schema, moments)
            best, folds = self.choice.best, len(moments.folds)
            logger.info("chosen by %d-fold cross-validation: C=%g, gamma=%g", folds, best.C, best.gamma)
            self.settings = replace(self.settings, C=best.C, gamma=best.gamma)
        return schema, moments

    def join(self, federation: Federation) -> Schema:
        """Agree on columns and classes."""
        return join(federation, self.settings)

    def train(
        self,
        federation: Federation,
        schema: Schema,
        moments: Moments,
        scaled: ScaledFeatures,
        landmarks: Floats,
        features: Bools | None = None,
        start: Callable[[NystromMap], list[Floats]] | None = None,
    ) -> PanSVC:
        """Train from landmarks on: feature map, warm start and cutting planes.

        Parameters
        ----------
        federation : Federation
            The sites, which have received the scaling.
        schema, moments, scaled
            Common schema, moments and scaling.
        landmarks : ndarray of shape (landmarks, all features)
            The landmarks.
        features : ndarray of shape (all features,), optional
            Mask of the model's features; all by default.
        start : callable, optional
            Returns the starting points of each binary problem of the model, instead of a warm start at the sites.
        """
        phase = federation.costs.phase
        self.landmarks_used = len(landmarks)
        if features is None:
            features = np.ones(landmarks.shape[1], dtype=np.bool_)
        with phase("feature map"):
            feature_map = map_rows(federation, self.settings, scaled, landmarks, features)
        self.deviations = np.sqrt(moments.cells.of().variance()[features])
        pairs = pairs_of(self.settings, schema)
        # Probabilities need the problems without each fold, too.
        folds = [NO_FOLD, *(moments.folds if self.settings.probability else ())]
        problems = [
            problem
            for fold in folds
            for problem in binary_problems(
                self.settings, schema, pairs, feature_map.rank, moments.rows, fold=fold
            )
        ]
        with phase("warm start"):
            starts = (
                start(feature_map) * len(folds) if start else warm_start(federation, self.settings, problems)
            )
        with phase("cutting planes"):
            # Problems without a fold train along as long as the model's own, which suffices for probabilities.
            self.training = CuttingPlanes(
                federation, self.settings, problems, moments.rows, moments.sites, needed=len(pairs)
            )
            solved = self.training.train(starts)
        weights = np.stack([state.best for state in solved[: len(pairs)]])
        columns = tuple(name for name, selected in zip(schema.columns, features, strict=True) if selected)
        return PanSVC.from_parts(
            replace(schema, columns=columns), scaled.scaling.of(features), feature_map, weights, pairs
        )

    def evaluate(self, federation: Federation) -> Evaluation:
        """Try the model on the test rows; fit probabilities to what the models without a fold say of that fold.

        Of several classes one-vs-rest the sigmoids become part of the weights before the test, so that the predicted
        class is the most probable one, as in scikit-learn's ``CalibratedClassifierCV``: not with class weights, which
        a prediction by probability would undo.
        """
        model, pairs = self.model, self.model.pairs_
        weights = np.stack([state.best for state in self.training.progress])
        centres, scales = frame(model)
        trials = [
            Trial(0, fold, weights[start : start + len(pairs)], centres, scales)
            for fold, start in enumerate(range(0, len(weights), len(pairs)), start=NO_FOLD)
        ]
        axis = (float(centres[0]), float(scales[0])) if len(pairs) == 1 else None
        if not self.settings.probability:
            return self._tried(score(federation, trials, pairs, by_patient=True), axis)
        by_probability = axis is None and pairs[0].negative == REST and self.settings.class_weight == "none"
        of_folds = trials[1:]
        # All in one message, unless the folds' sigmoids change the model that is to be tested.
        asked = of_folds if by_probability else trials
        scores = score(federation, asked, pairs, by_patient=not by_probability)
        noise = (
            copy_noise(model, self.deviations, self.settings.noise)
            if self.settings.level == "perturbed"
            else None
        )
        held_out = scores.histogram[-len(of_folds) :].sum(axis=0)
        calibration = calibration_of(held_out, centres.tolist(), scales.tolist(), noise)
        weights = weights[: len(pairs)]
        if by_probability:
            weights = calibration.slopes[:, None] * weights
            weights[:, -1] += calibration.intercepts
            calibration = Calibration(np.ones(len(pairs)), np.zeros(len(pairs)))
        self.model = PanSVC.from_parts(
            model.schema_, model.scaling_, model.feature_map_, weights, pairs, calibration
        )
        if by_probability:
            scores = score(
                federation, [Trial(0, NO_FOLD, weights, *frame(self.model))], pairs, by_patient=True
            )
        # Of several classes the probabilities depend on all decision values of a row together.
        probabilities = calibration.probabilities(histogram_middles(*axis)[:, None])[:, 1] if axis else None
        return self._tried(scores, axis, probabilities)

    def _tried(
        self, sums: ScoresAnswer, axis: tuple[float, float] | None, probabilities: Floats | None = None
    ) -> Evaluation:
        return Evaluation.from_counts(
            *(sums.confusion[0], sums.histogram[0], probabilities, sums.squares[0], axis),
            self.settings.threshold,
        )

    def figures(self) -> dict[str, Any]:
        """Return landmarks, bounds of each binary problem, and the outcome of cross-validation."""
        pairs = len(self.model.pairs_)
        solved = self.training.progress[:pairs]
        objectives = [
            {"problem": state.problem.name, "upper": state.upper, "lower": state.lower, "gap": state.gap}
            for state in solved
        ]
        return {
            "constant_columns": self.constant_columns,
            "landmarks": self.landmarks_used,
            "rank": self.model.feature_map_.rank,
            "objective": objectives[0] if len(objectives) == 1 else objectives,
            "tolerance": self.settings.tol,
            "converged": all(state.gap <= self.settings.tol for state in solved),
            "convergence": self.training.history[:pairs],
            "cut_rounds": max(state.rounds for state in self.training.progress),
            "chosen": None if self.choice is None else self.choice.figures(self.settings.kernel),
        }
