"""PAN-SVM: one non-linear SVM over the rows of all sites (Lu 2016, chapter 3; several classes: chapter 4)."""

import math
from collections.abc import Sequence
from logging import INFO

import numpy as np
from flwr.common.logger import log
from numpy.typing import NDArray

from flower_pansvm import messages
from flower_pansvm.cutting_planes.engine import Problem
from flower_pansvm.errors import TrainingError
from flower_pansvm.kernels import Kernel, scale_gamma
from flower_pansvm.model import PanSVC
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.schema import Schema
from strategies.cutting_planes import MARGIN, CuttingPlanes
from strategies.federation import Federation
from strategies.phased import PhasedStrategy
from strategies.phases import Standard, join, standardise

SPARE_SLOTS = 2
"""Landmark slots per site, in shares of an equal split: a site with more rows than others has more centres."""


class PanSVM(PhasedStrategy):
    """The PAN-SVM strategy. Each phase is a method; a subclass may replace one and keep the others.

    Attributes
    ----------
    training : CuttingPlanes
        Bounds, cuts and dual variables of each binary problem, as far as training has come.
    landmarks_used : int
        Number of landmarks, once they are gathered.

    Examples
    --------
    The ServerApp of this project runs it like this:

    >>> strategy = PanSVM(Settings(C=10.0))  # doctest: +SKIP
    >>> result = strategy.start(grid)  # doctest: +SKIP
    >>> strategy.model.save("model.npz")  # doctest: +SKIP
    """

    training: CuttingPlanes
    landmarks_used: int = 0

    def fit(self, federation: Federation) -> PanSVC:
        """Train the model; one phase after the other as in the paper's figure 3.1."""
        phase = federation.ledger.phase
        with phase("join"):
            schema = self.join(federation)
        with phase("scaling"):
            standard = self.standardise(federation, schema)
        with phase("landmarks"):
            landmarks = self.gather_landmarks(federation, standard)
        with phase("feature map"):
            feature_map = self.build_feature_map(federation, standard, landmarks)
        problems = self.one_versus_all(schema, feature_map, standard)
        bound = _coordinate_bound(feature_map, standard)
        with phase("warm start"):
            starts = self.warm_start(federation, schema, problems, bound)
        with phase("cutting planes"):
            weights = self.cutting_planes(federation, schema, standard, problems, starts, bound)
        return PanSVC.from_parts(schema, standard.scaling, feature_map, weights)

    def join(self, federation: Federation) -> Schema:
        """Phase 1: agree on columns and classes."""
        return join(federation, self.settings)

    def standardise(self, federation: Federation, schema: Schema) -> Standard:
        """Phase 2: scale the features by federated moments."""
        return standardise(federation, schema, self.settings)

    def gather_landmarks(self, federation: Federation, standard: Standard) -> NDArray[np.float64]:
        """Phase 3: the union of the sites' k-means centres (Algorithm 1, line 1), shape (landmarks, features).

        They come back in an order that says nothing about the sites, and are sorted besides, so that the same
        centres always give the same model.

        Raises
        ------
        TrainingError
            If no site has enough rows for a single centre.
        """
        wanted = self.settings.landmark_count(standard.rows)
        sites = len(federation.sites)
        sums = federation.secure_sum(
            messages.LANDMARKS,
            {
                "share": wanted / standard.rows,
                "slots_per_site": min(wanted, SPARE_SLOTS * math.ceil(wanted / sites)),
                "min_cluster": self.settings.min_cluster,
                "seed": self.settings.seed,
            },
            {"centres": MARGIN * math.sqrt(float(standard.squares.max())) + 1.0, "filled": 1.0},
        )
        landmarks = sums["centres"][sums["filled"] > 0]
        if len(landmarks) == 0:
            raise TrainingError(
                f"No site has the {self.settings.min_cluster} rows that a landmark needs. Lower min-cluster if all "
                "hospitals agree, or gather more rows."
            )
        self.landmarks_used = len(landmarks)
        return landmarks[np.lexsort(landmarks.T[::-1])]

    def build_feature_map(
        self, federation: Federation, standard: Standard, landmarks: NDArray[np.float64]
    ) -> NystromMap:
        """Phase 4: decompose the landmarks' kernel matrix (equation 3.6) and tell the sites the map."""
        features = landmarks.shape[1]
        gamma = self.settings.gamma
        kernel = Kernel(
            self.settings.kernel,  # type: ignore[arg-type]
            scale_gamma(features, standard.variance) if gamma == "scale" else float(gamma),
            self.settings.degree,
            self.settings.coef0,
        )
        feature_map = NystromMap.fit(kernel, landmarks)
        log(INFO, "%d landmarks, feature map of rank %d", len(landmarks), feature_map.rank)
        federation.broadcast(
            messages.FEATURE_MAP,
            {
                "kernel": kernel.name,
                "gamma": kernel.gamma,
                "degree": kernel.degree,
                "coef0": kernel.coef0,
                "landmarks": feature_map.landmarks,
                "normalization": feature_map.normalization,
            },
        )
        return feature_map

    def one_versus_all(self, schema: Schema, feature_map: NystromMap, standard: Standard) -> list[Problem]:
        """Return the binary problems: one for two classes, else each class against all others (chapter 4)."""
        return [
            Problem(schema.classes[positive], feature_map.rank, float(standard.rows), self.settings.C)
            for positive in schema.positive_classes
        ]

    def warm_start(
        self, federation: Federation, schema: Schema, problems: Sequence[Problem], coordinate_bound: float
    ) -> list[NDArray[np.float64]]:
        """Phase 5: the mean of the sites' own linear SVMs, weighted by rows, as first point of each problem."""
        nothing = [np.empty((0, problem.rank + 1)) for problem in problems]
        if not self.settings.warm_start:
            return nothing
        C, rows = problems[0].C, problems[0].rows
        # At a minimum 1/2 ||w||^2 <= C rows, the objective at the origin; and |b| <= 1 + ||w|| ||f||.
        bound = 1.0 + (1.0 + coordinate_bound) * math.sqrt(2.0 * C * rows)
        sums = federation.secure_sum(
            messages.WARM_START,
            {"C": C, "rows": rows, "positive_classes": np.array(schema.positive_classes), "bound": bound},
            {"weights": MARGIN * bound * rows, "rows": rows},
        )
        return [
            (weights / count)[None, :] if count > 0 else empty
            for weights, count, empty in zip(sums["weights"], sums["rows"], nothing, strict=True)
        ]

    def cutting_planes(
        self,
        federation: Federation,
        schema: Schema,
        standard: Standard,
        problems: Sequence[Problem],
        starts: Sequence[NDArray[np.float64]],
        coordinate_bound: float,
    ) -> NDArray[np.float64]:
        """Phase 6: weights and biases of all problems, shape (problems, rank + 1)."""
        self.training = CuttingPlanes(
            federation, self.settings, problems, schema.positive_classes, coordinate_bound, standard.sites
        )
        return self.training.train(starts)


def _coordinate_bound(feature_map: NystromMap, standard: Standard) -> float:
    """Return a bound on ||f||, and so on each coordinate, of every mapped training row: ||f||^2 <= k(x, x)."""
    return MARGIN * math.sqrt(feature_map.kernel.self_bound(MARGIN * float(standard.squares.sum())))
