"""The settings of a run: names, defaults, and what each may be.

They are the keys of Flower's run config (``[tool.flwr.app.config]``, ``flwr run --run-config``) and of
``pansvm run --set``. The defaults follow scikit-learn where it has one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

from flower_pansvm import terms
from flower_pansvm.errors import SettingError
from flower_pansvm.labels import canonical_label
from flower_pansvm.setting_values import (
    check_choice,
    check_least,
    convert,
    near_matches,
    refusal,
    to_number,
    to_positive,
    to_positives,
)
from flower_pansvm.terms import Scalar, Terms
from strategies.selection.schedule import parse_schedule
from strategies.selection.thresholds import parse_threshold

SELECTING = ("voted-wrapper", "filter-wrapper", "svm-rfe", "rsvm", "svm-t")
"""Strategies that select features."""

CHOICES = {
    **terms.CHOICES,
    "strategy": ("pan-svm", *SELECTING),
    "multi_class": ("ovr", "ovo"),
    "landmark_method": ("k-means", "federated-k-means", "random"),
}

LEAST = {
    **terms.LEAST,
    "sites": 2,
    "min_cluster": 1,
    "points": 1,
    "curvature": 0.0,
    "cv_folds": 2,
    "candidates": 2,
    "select_tolerance": 0.0,
    "degree": 1,
    "seed": 0,
    "coef0": 0.0,
}
"""The least that a number may be."""

GAMMA_FACTORS = (0.0625, 0.25, 1.0, 4.0)
"""The default grid of gamma, in shares of ``scale``."""


@dataclass(frozen=True)
class Settings:
    """All settings of a run; in the run config a name has ``-`` where a field has ``_``.

    Parameters
    ----------
    data, label, positive, split, sites, data_dir
        What simulated sites hold (a hospital names its own table in its node config): data set or file, label
        column, comma-separated labels that count as positive, how rows are dealt out, number of sites, folder
        of data sets.
    strategy, aggregation, execution, k, key_bits, min_sites
        The privacy-preserving system; the secure-sum protocol; whether ring and k-secure take one round trip
        (``one-shot``) or go from site to site (``hops``); the k of k-secure, 0 for the number of sites; length of a
        Paillier key; fewest sites in a sum.
    test_fraction, seed
        Share of each site's rows kept for evaluation; seed of the splits and of k-means.
    scaling, landmarks, min_cluster
        ``standard``, ``minmax`` or ``none``; landmarks as a share of all rows (below 1), a count, or ``auto``
        for a quarter of the rows, at most 500; fewest rows behind a landmark.
    landmark_method
        ``k-means`` at each site, the paper's; ``federated-k-means`` over all sites, ten round trips more; or
        ``random`` points of the bounding box.
    kernel, gamma, degree, coef0, C
        As in scikit-learn's ``SVC``. ``auto`` for gamma, C or both chooses by federated cross-validation.
    class_weight
        ``none``, or ``balanced``: in each binary problem both sides weigh as much, as in scikit-learn.
    multi_class, probability
        One versus the rest (``ovr``, the paper's choice) or one versus one (``ovo``); whether the model gives
        probabilities, which takes a model more for each fold, in the same messages.
    cv_folds, C_grid, gamma_grid
        Folds of cross-validation; the values of C and gamma it tries, by commas; ``auto`` for a sixteenth, a quarter,
        one and four times gamma=scale.
    step, candidates
        Features that each step of a feature selection removes: ``1``, the paper's; a share of those left, such as
        ``0.1``; a schedule such as ``1000:0.5,100:0.1,1``, half while there are more than 1000, then a tenth, below 100
        one; or ``auto``, a tenth while there are more than 50, then one. And the most features that ``filter-wrapper``
        tries to do without in a step.
    features, select_tolerance
        Number of features to choose; ``auto`` for the fewest whose accuracy is within the
        tolerance of the best, by default none: as accurate as the best.
    filter_fisher, filter_welch, filter_scatter
        What the filters of ``filter-wrapper`` keep: a number of features (``200``), a share (``50%``); for Welch's test
        also a p-value (``p=0.01``).
    tol
        Relative gap at which training stops.
    preset, points, curvature, blur, warm_start
        ``private``, few round trips, and secret noise in all sums that rows could be computed from; ``exact``, the same
        training without noise, for researchers; or ``paper``, its algorithms 2 and 3 as published. Not with ``paper``:
        points on the line to the master's solution when the bounds stall; most megabytes
        of curvature a site sends per round trip, 0 for none; rows at each site whose part in a cutting plane is random,
        ``auto`` or a count, 0 for none; whether local models give the first point.
    timeout
        Seconds to wait for the sites in one round trip.
    out, resume, audit
        Folder for the results, an absolute path, by default ``runs/RUN_ID`` in the working folder; whether to go on
        from the checkpoint that a stopped run has left there; whether to keep there what the sites were asked, so
        that ``pansvm run --audit`` can tell which simulated patients a curious coordinator could single out.
    """

    data: str = "breast_cancer"
    label: str = ""
    positive: str = ""
    split: str = "iid"
    sites: int = 5
    data_dir: str = ""
    strategy: str = "pan-svm"
    aggregation: str = Terms.aggregation
    execution: str = Terms.execution
    k: int = Terms.k
    key_bits: int = Terms.key_bits
    min_sites: int = Terms.min_sites
    test_fraction: float = 0.2
    seed: int = 0
    scaling: str = Terms.scaling
    landmarks: str = "auto"
    min_cluster: int = terms.MIN_CLUSTER
    kernel: str = Terms.kernel
    gamma: str = "scale"
    degree: int = 3
    coef0: float = 0.0
    C: float | str = 1.0
    landmark_method: str = "k-means"
    class_weight: str = Terms.class_weight
    multi_class: str = "ovr"
    probability: bool = False
    cv_folds: int = 5
    C_grid: str = "0.25,1,4,16,64,256"
    gamma_grid: str = "auto"
    step: str = "auto"
    candidates: int = 30
    features: str = "auto"
    select_tolerance: float = 0.0
    filter_fisher: str = "75%"
    filter_welch: str = "p=0.01"
    filter_scatter: str = "75%"
    tol: float = 1e-3
    preset: str = Terms.preset
    points: int = 8
    curvature: float = 16.0
    blur: str = "auto"
    warm_start: bool = True
    timeout: float = 600.0
    out: str = ""
    resume: bool = False
    audit: bool = False

    @classmethod
    def from_config(cls, config: Mapping[str, Scalar]) -> Self:
        """Read the settings from a run config, names with ``-``.

        Raises
        ------
        SettingError
            If a name is unknown (the near matches are named) or a value cannot work.

        Examples
        --------
        >>> Settings.from_config({"C": 10, "min-cluster": 1}).min_cluster
        1
        """
        known = {_key(field.name): field for field in fields(cls)}
        values: dict[str, Scalar] = {}
        for key, value in config.items():
            if key not in known:
                raise SettingError(f"There is no setting '{key}'. {near_matches(key, known)}")
            chosen_later = key == "C" and value == "auto"
            kind = str if chosen_later else type(known[key].default)
            values[known[key].name] = convert(key, value, kind)
        return cls(**values)  # type: ignore[arg-type]

    def to_config(self) -> dict[str, Scalar]:
        """Return the settings as a run config, names with ``-``."""
        return {_key(field.name): getattr(self, field.name) for field in fields(self)}

    @property
    def terms(self) -> Terms:
        """What the sites read of the settings."""
        return Terms.from_config(self.to_config())

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            check_choice(_key(name), getattr(self, name), choices)
        self._check_numbers()
        self._check_texts()

    def _check_numbers(self) -> None:
        """Check the settings that are numbers."""
        for name, least in LEAST.items():
            check_least(_key(name), getattr(self, name), least)
        if self.seed >= 2**32:
            raise SettingError(f"seed is {self.seed}, but scikit-learn's k-means needs one below {2**32}.")
        if not 0 <= self.test_fraction < 1:
            raise refusal("test-fraction", self.test_fraction)
        to_positive("tol", self.tol)
        to_positive("timeout", self.timeout)

    def _check_texts(self) -> None:
        """Check the settings that may be a word, a number or several numbers."""
        if self.C != "auto":
            to_positive("C", self.C)
        if self.gamma not in ("scale", "auto"):
            to_positive("gamma", self.gamma)
        to_positives("C-grid", self.C_grid)
        if self.gamma_grid != "auto":
            to_positives("gamma-grid", self.gamma_grid)
        if self.blur != "auto":
            blurred = to_number("blur", self.blur)
            if not (blurred >= 0 and blurred.is_integer()):
                raise refusal("blur", self.blur)
        parse_schedule(self.step)
        for key, threshold in self.thresholds.items():
            parse_threshold(f"filter-{key}", threshold)
        if self.features != "auto":
            wanted = to_positive("features", self.features)
            if not wanted.is_integer():
                raise refusal("features", self.features)
        if self.landmarks != "auto":
            count = to_positive("landmarks", self.landmarks)
            if not (count < 1 or count.is_integer()):
                raise refusal("landmarks", self.landmarks)

    @property
    def positive_labels(self) -> tuple[str, ...]:
        """The labels named in ``positive``; empty if the classes are the labels themselves."""
        return tuple(canonical_label(label) for label in self.positive.split(",") if label.strip())

    @property
    def tunes(self) -> bool:
        """Whether C or gamma is to be chosen by cross-validation."""
        return self.C == "auto" or self._tunes_gamma

    @property
    def selects(self) -> bool:
        """Whether the strategy selects features."""
        return self.strategy in SELECTING

    @property
    def folds(self) -> int:
        """Folds that the sites deal their training rows to; 0 if nothing needs them."""
        return self.cv_folds if self.tunes or self.probability or self.selects else 0

    @property
    def features_wanted(self) -> int | None:
        """The number of features to choose, or None if accuracy decides."""
        return None if self.features == "auto" else int(float(self.features))

    @property
    def thresholds(self) -> dict[str, str]:
        """What each filter keeps, by the filter's name."""
        return {"fisher": self.filter_fisher, "welch": self.filter_welch, "scatter": self.filter_scatter}

    @property
    def blurs(self) -> bool:
        """Whether sums that are alike hide single rows behind random ones."""
        return self.preset == "private" or (
            self.preset == "exact" and (self.blur == "auto" or float(self.blur) > 0)
        )

    @property
    def C_values(self) -> list[float]:
        """The values of C to try: those of the grid, or the one that is given."""
        return to_positives("C-grid", self.C_grid) if self.C == "auto" else [float(self.C)]

    def gamma_values(self, scale: float) -> list[float]:
        """Return the values of gamma to try, given what ``scale`` stands for; a linear kernel has only one."""
        if not self._tunes_gamma:
            return [scale if self.gamma in ("scale", "auto") else float(self.gamma)]
        if self.gamma_grid == "auto":
            # Rounded, so that a person can give the chosen value again.
            return [float(f"{factor * scale:.4g}") for factor in GAMMA_FACTORS]
        return to_positives("gamma-grid", self.gamma_grid)

    @property
    def _tunes_gamma(self) -> bool:
        return self.gamma == "auto" and self.kernel != "linear"

    def blurred_rows(self, rank: int, sites: int) -> int:
        """Return at how many rows each site makes its first cutting planes random.

        About ``rank`` rows lie on the margin of the solution, where any c is as good; with ``auto`` a sixteenth of
        them is blurred. More protects no better against differences of sums and takes more round trips.
        """
        return max(1, rank // (16 * sites)) if self.blur == "auto" else int(float(self.blur))

    def landmark_count(self, rows: int) -> int:
        """Return how many landmarks the federation asks its sites for, given all training rows.

        Raises
        ------
        SettingError
            If it is more than there are rows.
        """
        if self.landmarks == "auto":
            return max(1, min(rows // 4, 500))
        asked = float(self.landmarks)
        count = max(1, int(asked * rows)) if asked < 1 else int(asked)
        if count > rows:
            raise SettingError(
                f"landmarks is {count}, but all sites together train on {rows} rows. Ask for fewer landmarks, or "
                "for a share of the rows such as landmarks=0.25."
            )
        return count


def _key(name: str) -> str:
    """Return what the run config calls a field."""
    return name.replace("_", "-")
