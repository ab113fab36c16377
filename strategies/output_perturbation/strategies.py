"""Private SVM (Rubinstein et al. 2012) and hybrid SVM (Li et al. 2014): noise on the weights of an RBF SVM."""

import hashlib
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.constraints import number, setting, whole
from flower_pansvm.errors import SettingError
from flower_pansvm.metrics import Evaluation
from flower_pansvm.models.fourier_svc import RandomFourierSVC
from flower_pansvm.privacy.accountant import epsilon_of, rho_of
from flower_pansvm.privacy.discrete_noise import random_bits
from flower_pansvm.privacy.exact import (
    LARGEST_FREQUENCY,
    LARGEST_WEIGHT,
    WEIGHT_STEP,
    in_turns,
    rounded,
)
from flower_pansvm.privacy.output_perturbation import Perturbation, perturbed
from flower_pansvm.random_fourier import RandomFourierMap
from flower_pansvm.schema import Schema
from flower_pansvm.systems.output_perturbation import (
    LARGEST_C,
    LARGEST_CONDITION,
    LOCAL_WEIGHTS,
    RFF,
    RFF_PRIVATE_SCORES,
    LocalWeightsQuestion,
)
from strategies.api import (
    SPREAD,
    Budget,
    Federation,
    KernelSettings,
    Outcome,
    PhasedStrategy,
    PrivateTest,
    PromiseSettings,
    check_classes,
    edges_around,
    join_with_ranges,
    logger,
    one_text,
    private_test,
    term,
)
from strategies.output_perturbation.frequencies import drawn, fitted, generator_of, median_distance
from strategies.output_perturbation.training import exact_weights, public_rows, score

MOST_NOISIER = 2.0
"""Inexact weights need larger noise; noise of more than so many times that of exact weights is refused."""

TOL = 1e-7
"""Gap of the weights' objective, in shares of C-total, that the noise covers."""

LOCAL_TOL = 1e-6
"""The same for sites' local weights, or 1e-9 C-total if larger: a site takes as many steps as prove it."""

MODES = {
    "release": "Everyone who gets the model. The coordinator sees exact sums, from which rows can be computed: it must "
    "be trusted.",
    "local": "Everyone who gets the model, and the coordinator: each site adds its own noise before anything leaves.",
}
"""Parties against whom the guarantee holds."""


@dataclass(frozen=True)
class PrivateSvmSettings(PromiseSettings):
    """The map and the SVM, whose C multiplies the mean loss, as in the proof.

    Sites add the noise at level dp; otherwise the coordinator does, to weights from exact sums.
    """

    C_total: float = setting(
        100.0,
        number(above=0, below=LARGEST_C),
        "Penalty of the mean loss: SVC's C times the number of training rows.",
    )
    frequencies: int = setting(10, whole(1, 2000), "D, number of frequencies of the random Fourier map.")
    gamma: float | Literal["scale"] = term("gamma", KernelSettings)
    public: str = setting(
        "auto", one_text(), "Public rows: a CSV file's absolute path, or a number of simulated sites' rows."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.gamma, float) and self.gamma != "scale":
            raise SettingError(
                f"{self.strategy} does not choose gamma by cross-validation. Give a number, or gamma='scale'."
            )

    @property
    def dp(self) -> bool:
        """See :attr:`strategies.settings.Settings.dp`."""
        return self.privacy == "dp"


class PrivateSvm(PhasedStrategy):
    """Frequencies, weights by exact sums or at each site, and noise on the weights."""

    settings_class = PrivateSvmSettings
    settings: PrivateSvmSettings
    several_classes = False
    public_by_default = "0"

    def fit(self, federation: Federation) -> Outcome:
        """Train, release, and evaluate the released model on the test rows.

        Raises
        ------
        SettingError
            If there are more than two classes, or the settings need too much noise.
        TrainingError
            If the weights are less exact than the noise covers.
        """
        settings = self.settings
        with federation.costs.phase("join"):
            schema, low, high = join_with_ranges(federation, settings)
            check_classes(settings.strategy, schema.classes)
        with federation.costs.phase("public data"):
            feature_map = self._map(federation, schema, low, high)
            federation.broadcast(RFF, feature_map)
        common = (feature_map.size, settings.C_total, settings.epsilon)
        if settings.dp:
            tol = max(LOCAL_TOL, settings.C_total / LARGEST_CONDITION)
            weights, evaluation, figures = self._local(federation, LocalWeightsQuestion(*common, tol))
        else:
            weights, evaluation, figures = self._release(federation, Perturbation(*common, TOL))
        model = RandomFourierSVC.from_parts(schema, feature_map, weights[:, None])  # type: ignore[arg-type]
        return Outcome(model, evaluation, figures)

    def _map(self, federation: Federation, schema: Schema, low: Floats, high: Floats) -> RandomFourierMap:
        """Return the map, which depends on public data only: the columns' ranges, and public rows if there are any."""
        settings, columns = self.settings, len(schema.columns)
        public = self.public_by_default if settings.public == "auto" else settings.public
        self.public_rows = np.empty((0, columns))
        if public != "0":
            self.public_rows = public_rows(federation, public, schema)
        scaling = RandomFourierMap(low, high, np.empty((0, columns)))
        inside = scaling.inside(self.public_rows)
        if isinstance(settings.gamma, float):
            self.gamma = settings.gamma
        else:
            # Twice the mean squared distance of evenly spread rows.
            self.gamma = median_distance(inside) ** -2 if len(inside) else 3 / columns
        frequencies = self._frequencies(inside, self.gamma**-0.5)
        if np.abs(frequencies).max(initial=0.0) > 2 * np.pi * LARGEST_FREQUENCY:
            raise SettingError(
                f"gamma={self.gamma:g} is too large: every row would differ from all others, and sums would not be "
                "exact. Set gamma=400 or less."
            )
        return RandomFourierMap(low, high, in_turns(frequencies))

    def _frequencies(self, public: Floats, sigma: float) -> Floats:
        """Return the frequencies; parameters as in :func:`strategies.output_perturbation.frequencies.fitted`."""
        generator = generator_of(self.settings.seed)
        return drawn(self.settings.frequencies, public.shape[1], sigma, generator)

    def _release(
        self, federation: Federation, noise: Perturbation
    ) -> tuple[Floats, Evaluation | None, dict[str, Any]]:
        """Train over all sites, add the noise at the coordinator, and evaluate the released weights."""
        settings, phase = self.settings, federation.costs.phase
        logger.warning(
            "%s: the coordinator sees exact sums; see docs/differential-privacy.md", settings.strategy
        )
        with phase("cutting planes"):
            exact = exact_weights(federation, noise.size, noise.C, noise.tol)
        scale = checked_scale(noise, exact.rows)
        weights = perturbed(exact.weights, scale, random_bits(self._key()))
        evaluation = None
        if settings.test_fraction > 0:
            with phase("evaluation"):
                evaluation = score(federation, weights)
        figures = self._figures(scale, exact.gap, rows=exact.rows)
        return weights, evaluation, {**figures, "cut_rounds": exact.rounds}

    def _local(
        self, federation: Federation, question: LocalWeightsQuestion
    ) -> tuple[Floats, Evaluation | None, dict[str, Any]]:
        """Have each site train and add noise, take the mean, and evaluate it on the test rows at a cost of its own."""
        settings, phase = self.settings, federation.costs.phase
        test_rho = rho_of(settings.epsilon, settings.delta)
        budget = Budget(federation, max(question.rho, test_rho), settings.colluders, resumed=settings.resume)
        with phase("local training"):
            total = budget.ask(LOCAL_WEIGHTS, question, weights=(question.size,)).weights
            weights = total / len(federation.sites)
        test = PrivateTest()
        if settings.test_fraction > 0:
            asked = rounded(weights, WEIGHT_STEP, LARGEST_WEIGHT)
            edges = edges_around(0.0, SPREAD * float(np.linalg.norm(asked)) or 1.0)
            with phase("private scores"):
                test = private_test(budget, RFF_PRIVATE_SCORES, test_rho, asked, edges)
        figures = self._figures(None, question.tol * question.C)
        figures["guarantee"] |= {
            "lambda_times_rows": question.scale(1) * settings.rows_per_patient,
            "delta": settings.delta,
            "epsilon_of_ledger": epsilon_of(budget.total("train"), settings.delta),
            "epsilon_test": epsilon_of(budget.total("test"), settings.delta),
            "accuracy_noise": test.accuracy_noise,
        }
        return weights, test.evaluation, {**figures, **test.figures}

    def _key(self) -> bytes:
        """Return the key of the noise; from the seed, for repeatable runs, if all sites are simulated."""
        if not self.settings.schema:
            return hashlib.sha256(f"{self.settings.strategy} {self.settings.seed}".encode()).digest()
        return secrets.token_bytes(32)

    def _figures(self, scale: float | None, gap: float, rows: int | None = None) -> dict[str, Any]:
        """Return the guarantee and data that it does not cover, for ``result.json``."""
        settings = self.settings
        not_covered = [
            "the number of training rows, which counts as public",
            "C-total, gamma and frequencies chosen by results",
        ]
        if not settings.dp and settings.test_fraction > 0:
            not_covered.append("the test rows, which were counted exactly")
        not_covered += settings.from_simulated_rows
        if not settings.schema:
            not_covered.append("anyone who knows the seed, from which simulated noise follows")
        if len(self.public_rows) and Path(settings.public).name == settings.public:
            not_covered.append(
                f"{len(self.public_rows)} rows of simulated sites, which were disclosed as public"
            )
        mode = "local" if settings.dp else "release"
        return {
            "guarantee": {
                "mode": mode,
                "towards": MODES[mode],
                "epsilon": settings.epsilon,
                "lambda": scale,
                "gap": gap,
                "rows": rows,
                "not_covered": not_covered,
            },
            "frequencies": settings.frequencies,
            "gamma": self.gamma,
            "public_rows": len(self.public_rows),
        }


def checked_scale(noise: Perturbation, rows: int) -> float:
    """Return the scale of the noise; SettingError if inexact weights cause most of it."""
    if noise.sensitivity(rows) > MOST_NOISIER * noise.published(rows):
        raise SettingError(
            f"C-total={noise.C:g} is too small for {rows} rows: weights have a gap of up to {noise.tol:g} of it, and "
            f"the guarantee would need {noise.sensitivity(rows) / noise.published(rows):.1f} times the noise of exact "
            f"weights. Set C-total={2 * noise.tol * rows**2:.0e} or more."
        )
    if noise.sensitivity(rows) > noise.published(rows):
        logger.warning(
            "the noise is larger than with exact weights; C-total=%.0e avoids it", 2 * noise.tol * rows**2
        )
    return noise.scale(rows)


class HybridSvm(PrivateSvm):
    """Private SVM with fitted frequencies: a few of them approximate the kernel better than as many drawn ones."""

    public_by_default = "20"

    def _frequencies(self, public: Floats, sigma: float) -> Floats:
        """Return frequencies whose map approximates the RBF kernel between the public rows."""
        if len(public) == 0:
            raise SettingError(
                "hybrid-svm fits its map to public rows, but public=0 names none. Set public to the absolute path of a "
                "CSV file of rows without need of protection; or choose private-svm, which needs none."
            )
        return fitted(public, self.settings.frequencies, sigma, generator_of(self.settings.seed))
