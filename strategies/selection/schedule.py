"""How many features a step of the elimination removes: one (the paper), or more while there are many."""

from dataclasses import dataclass

from flower_pansvm.constraints import Constraint
from flower_pansvm.errors import SettingError

AUTO = "50:0.1,1"
"""What "auto" means: a tenth of the features while there are more than 50, then one by one."""


@dataclass(frozen=True)
class Schedule:
    """The size of each step.

    Parameters
    ----------
    text : str
        The setting it came from.
    stages : tuple of (int, float)
        Number of features above which the stage holds, and the share of the features that its steps remove,
        0 for one feature. The largest number first; the last is 0.
    """

    text: str
    stages: tuple[tuple[int, float], ...]

    def size(self, remaining: int) -> int:
        """Return how many features to remove when so many (2 or more) remain: at least 1, never all."""
        share = next(share for above, share in self.stages if remaining > above)
        # 0.29 * 100 is 28.999…: without the little more, a share would now and then lose a feature.
        return min(max(1, int(share * remaining + 1e-9)), remaining - 1)


def parse_schedule(text: str) -> Schedule:
    """Return the schedule that a setting describes.

    Parameters
    ----------
    text : str
        ``"1"`` for one feature at a time; a share of those that remain, like ``"0.1"``; stages of these, like
        ``"1000:0.5,100:0.1,1"``: while more than 1000 remain half of them, while more than 100 a tenth, else
        one; or ``"auto"``, which is ``"50:0.1,1"``.

    Raises
    ------
    SettingError
        If it is none of these.

    Examples
    --------
    >>> schedule = parse_schedule("1000:0.5,100:0.1,1")
    >>> [schedule.size(remaining) for remaining in (2000, 1000, 101, 100, 2)]
    [1000, 100, 10, 1, 1]
    """
    *stages, last = (AUTO if text.strip() == "auto" else text).split(",")
    try:
        parsed = [_stage(stage) for stage in stages] + [(0, _share(last))]
    except ValueError:
        raise _refusal(text) from None
    limits = [above for above, _ in parsed]
    if limits != sorted(set(limits), reverse=True):
        raise _refusal(text)
    return Schedule(text, tuple(parsed))


def schedules() -> Constraint:
    """Return the constraint of such settings."""
    return Constraint(
        "1, a share of the features above 0 and below 1, stages of these such as 1000:0.5,100:0.1,1, or 'auto'",
        lambda value: value if isinstance(value, Schedule) else parse_schedule(str(value)),
        lambda schedule: schedule.text,
    )


def _stage(text: str) -> tuple[int, float]:
    above, share = text.split(":")
    return int(above), _share(share)


def _share(text: str) -> float:
    """Return the share of a step, 0 for one feature; ValueError if it is none."""
    number = float(text)
    if not 0 < number <= 1:
        raise ValueError
    return 0.0 if number == 1 else number


def _refusal(text: str) -> SettingError:
    return SettingError(
        f"step is '{text}', but it must be 1 (one feature at a time), a share of the features above 0 and below 1 "
        "such as 0.1, stages of these from many features to few such as '1000:0.5,100:0.1,1' (half of them while "
        "there are more than 1000, a tenth while more than 100, then one), or 'auto'."
    )
