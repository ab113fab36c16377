"""The terms of a run: what a site reads of the run config, and a digest of all the rest.

How the coordinator searches, chooses and stops is its own affair, and a site knows nothing of these settings. But all
sites' masks are made from a digest of the whole run config, so that nobody can be told other settings than the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Self

from flower_pansvm import records
from flower_pansvm.setting_values import check_choice, check_least, convert

Scalar = str | int | float | bool

CHOICES = {
    "execution": ("one-shot", "hops"),
    "preset": ("private", "exact", "paper"),
    "scaling": ("standard", "minmax", "none"),
    "kernel": ("rbf", "linear", "poly"),
    "class_weight": ("none", "balanced"),
}
"""What a text may be."""

LEAST = {"k": 0, "min_sites": 2}
"""The least that a number may be."""

MIN_CLUSTER = 5
"""Fewest rows behind a landmark, unless the run or a hospital asks for more."""


@dataclass(frozen=True)
class Terms:
    """What a site checks and needs of a run's settings.

    Parameters
    ----------
    aggregation, execution, k, key_bits, min_sites
        The secure sum: its protocol; whether ring and k-secure take one round trip or go from site to site; the k of
        k-secure, 0 for the number of sites; length of a Paillier key; fewest sites.
    preset
        ``private``, with secret noise in all sums that rows could be computed from; ``exact`` or ``paper``, without.
    scaling, kernel, class_weight
        What the request's numbers may be: see :class:`strategies.settings.Settings`.
    config
        The whole run config, of which nothing but the digest is used.
    """

    aggregation: str = "ring"
    execution: str = "one-shot"
    k: int = 0
    key_bits: int = 3072
    min_sites: int = 3
    preset: str = "private"
    scaling: str = "standard"
    kernel: str = "rbf"
    class_weight: str = "none"
    config: Mapping[str, Scalar] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def from_config(cls, config: Mapping[str, Scalar]) -> Self:
        """Read the terms from a run config, names with ``-``; what is the coordinator's own is not looked at.

        Raises
        ------
        SettingError
            If a term has a value that cannot work.

        Examples
        --------
        >>> Terms.from_config({"k": 2, "landmarks": "500"}).k
        2
        """
        terms = {term.name.replace("_", "-"): term for term in fields(cls) if term.name != "config"}
        values = {
            term.name: convert(key, config[key], type(term.default))
            for key, term in terms.items()
            if key in config
        }
        return cls(**values, config=config)  # type: ignore[arg-type]

    @property
    def digest(self) -> str:
        """Digest of the whole run config."""
        return config_digest(self.config)

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            check_choice(name.replace("_", "-"), getattr(self, name), choices)
        for name, least in LEAST.items():
            check_least(name.replace("_", "-"), getattr(self, name), least)


def config_digest(config: Mapping[str, Scalar]) -> str:
    """Return a digest of a run config. A number is the same however it is written, as text or 1 for 1.0.

    Examples
    --------
    >>> config_digest({"C": 10, "landmarks": "20"}) == config_digest({"C": 10.0, "landmarks": 20})
    True
    """
    return records.digest({key: _written_alike(value) for key, value in config.items()})


def _written_alike(value: Scalar) -> str:
    text = str(value)
    if text.lower() in ("true", "false"):
        return text.lower()
    try:
        return repr(float(text))
    except ValueError:
        return text
