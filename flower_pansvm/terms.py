"""The terms of a run: what a site reads of the run config, and a digest of all the rest.

How the coordinator searches, chooses and stops is its own affair, and a site knows nothing of these settings. But all
sites' masks are made from a digest of the whole run config, so that nobody can be told other settings than the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from flower_pansvm import records
from flower_pansvm.constraints import one_of, one_of_numbers, parse, setting, text, values_in, whole

Scalar = str | int | float | bool

MIN_CLUSTER = 5  # fewest patients behind a landmark, unless the run or a hospital asks for more

WHAT_A_LEVEL_IS = (
    "The level, see docs/threat-model.md: exact, perturbed or dp; auto is dp of dp-svm, else perturbed."
)
MOST_ROWS_PER_PATIENT = 100
"""With more, hardly a signal is left beside the noise."""

NOISES = (0.25, 0.5, 1.0)
"""What the noise of level perturbed may be, in deviations of a column: the steps by which it grows."""


def replaced_share(noise: float) -> float:
    """Return r, the probability that a code is drawn anew: 0.10 at σ = 0.25, 0.25 at 0.5, and on that line."""
    return 0.6 * noise - 0.05 if noise else 0.0


@dataclass(frozen=True)
class Terms:
    """What a site checks and needs of a run's settings; beside each what it may be and what it means."""

    aggregation: str = setting("ring", text(), "Protocol of the secure sum.")
    min_sites: int = setting(3, whole(2), "Fewest sites in a sum.")
    privacy: str = setting("auto", one_of("auto", "exact", "perturbed", "dp"), WHAT_A_LEVEL_IS)
    noise: float = setting(
        NOISES[0], one_of_numbers(*NOISES), "Noise of level perturbed, in standard deviations of each column."
    )
    scaling: str = setting("standard", one_of("standard", "minmax", "none"), "How features are scaled.")
    kernel: str = setting("rbf", one_of("rbf", "linear"), "The kernel, as in scikit-learn's SVC.")
    class_weight: str = setting("none", text(), "none, or rows of the classes weigh differently.")
    colluders: int = setting(
        1, whole(0), "Sites that may collude with the coordinator or fail: the others' noise is enough."
    )
    rows_per_patient: int = setting(
        1,
        whole(1, MOST_ROWS_PER_PATIENT),
        "At level dp, most rows of a patient that take part; the noise grows with them.",
    )
    # The whole run config.
    config: Mapping[str, Scalar] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def from_config(cls, config: Mapping[str, Scalar]) -> "Terms":
        """Read the terms from a run config, names with ``-``; SettingError if one has a value that cannot work."""
        return cls(**values_in(cls, config), config=dict(config))

    def __post_init__(self) -> None:
        parse(self)

    @cached_property
    def digest(self) -> str:
        """Digest of the whole run config; a number is the same however it is written, as text or 1 for 1.0.

        Examples
        --------
        >>> Terms(config={"C": 10, "folds": "20"}).digest == Terms(config={"C": "10.0", "folds": 20}).digest
        True
        """
        return records.digest({key: _written_alike(str(value)) for key, value in self.config.items()})


def _written_alike(text: str) -> str:
    if text.lower() in ("true", "false"):
        return text.lower()
    try:
        return repr(float(text))
    except ValueError:
        return text
