"""The settings of a run: names, defaults, and what each may be.

They are the keys of Flower's run config (``[tool.flwr.app.config]``, ``flwr run --run-config``) and of
``pansvm run --set``. The defaults follow scikit-learn where it has one.
"""

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Self

from flower_pansvm.errors import SettingError
from flower_pansvm.labels import canonical_label

Scalar = str | int | float | bool

CHOICES = {
    "strategy": ("pan-svm",),
    "execution": ("one-shot", "hops"),
    "kernel": ("rbf", "linear", "poly"),
    "scaling": ("standard", "minmax", "none"),
}


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
    kernel, gamma, degree, coef0, C
        As in scikit-learn's ``SVC``.
    tol, points, warm_start
        Relative gap at which training stops; points per round trip; whether local models give the first point.
    timeout
        Seconds to wait for the sites in one round trip.
    out, resume
        Folder for the results, an absolute path, by default ``runs/RUN_ID`` in the working folder; whether to go on
        from the checkpoint that a stopped run has left there.
    """

    data: str = "breast_cancer"
    label: str = ""
    positive: str = ""
    split: str = "iid"
    sites: int = 5
    data_dir: str = ""
    strategy: str = "pan-svm"
    aggregation: str = "ring"
    execution: str = "one-shot"
    k: int = 0
    key_bits: int = 3072
    min_sites: int = 3
    test_fraction: float = 0.2
    seed: int = 0
    scaling: str = "standard"
    landmarks: str = "auto"
    min_cluster: int = 5
    kernel: str = "rbf"
    gamma: str = "scale"
    degree: int = 3
    coef0: float = 0.0
    C: float = 1.0
    tol: float = 1e-3
    points: int = 8
    warm_start: bool = True
    timeout: float = 600.0
    out: str = ""
    resume: bool = False

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
        known = {field.name.replace("_", "-"): field for field in fields(cls)}
        values: dict[str, Scalar] = {}
        for key, value in config.items():
            if key not in known:
                raise SettingError(f"There is no setting '{key}'. {near_matches(key, known)}")
            values[known[key].name] = _convert(key, value, type(known[key].default))
        return cls(**values)  # type: ignore[arg-type]

    def to_config(self) -> dict[str, Scalar]:
        """Return the settings as a run config, names with ``-``."""
        return {field.name.replace("_", "-"): getattr(self, field.name) for field in fields(self)}

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        positive = {"C": self.C, "tol": self.tol, "timeout": self.timeout}
        if self.gamma != "scale":
            positive["gamma"] = _number("gamma", self.gamma, "a number above 0, or 'scale'")
        for name, value in positive.items():
            if not (math.isfinite(value) and value > 0):
                raise SettingError(f"{name} is {value}, but it must be a number above 0.")
        at_least = {
            "sites": (self.sites, 2),
            "min-sites": (self.min_sites, 2),
            "min-cluster": (self.min_cluster, 1),
            "points": (self.points, 1),
            "degree": (self.degree, 1),
            "seed": (self.seed, 0),
            "coef0": (self.coef0, 0.0),
            "k": (self.k, 0),
        }
        for name, (number, least) in at_least.items():
            if not least <= number < math.inf:
                raise SettingError(f"{name} is {number}, but it must be at least {least}.")
        if self.seed >= 2**32:
            raise SettingError(f"seed is {self.seed}, but scikit-learn's k-means needs one below {2**32}.")
        if not 0 <= self.test_fraction < 1:
            raise SettingError(
                f"test-fraction is {self.test_fraction}, but it must be at least 0 and below 1."
            )
        if self.landmarks != "auto":
            count = _number("landmarks", self.landmarks, "a share of the rows below 1, a count, or 'auto'")
            if not (math.isfinite(count) and count > 0 and (count < 1 or count == int(count))):
                raise SettingError(
                    f"landmarks is {self.landmarks}, but it must be a share of the rows between 0 and 1, a whole "
                    "number of landmarks, or 'auto'."
                )

    @property
    def positive_labels(self) -> tuple[str, ...]:
        """The labels named in ``positive``; empty if the classes are the labels themselves."""
        return tuple(canonical_label(label) for label in self.positive.split(",") if label.strip())

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


def near_matches(word: str, known: Iterable[str]) -> str:
    """Return the end of an error text that names what the user may have meant.

    Examples
    --------
    >>> near_matches("gama", ["gamma", "C"])
    "Did you mean 'gamma'?"
    """
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    if close:
        return f"Did you mean {' or '.join(repr(name) for name in close)}?"
    return f"Choose one of: {', '.join(names)}."


def check_choice(setting: str, value: str, choices: Iterable[str]) -> None:
    """Raise a SettingError that names the near matches unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise SettingError(f"There is no {setting} '{value}'. {near_matches(value, choices)}")


def _number(key: str, value: str, meaning: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise SettingError(f"{key} is '{value}', but it must be {meaning}.") from None


def _convert(key: str, value: Scalar, kind: type) -> Scalar:
    """Return a run-config value as the type of the setting; a user may write 1 for 1.0."""
    if kind is bool:
        if isinstance(value, bool):
            return value
        if str(value).lower() in ("true", "false"):
            return str(value).lower() == "true"
        raise SettingError(f"{key} is '{value}', but it must be true or false.")
    if kind is str:
        return str(value)
    number = _number(key, str(value), "a number")
    if kind is int:
        if not number.is_integer():
            raise SettingError(f"{key} is {value}, but it must be a whole number.")
        return int(number)
    return number
