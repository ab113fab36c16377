"""How many features a step of the elimination removes: one (the paper), or more while there are many."""

from flower_pansvm.constraints import Constraint

AUTO = "50:0.1,1"
"""What "auto" means: a tenth of the features while there are more than 50, then one by one."""


def step_size(schedule: str, remaining: int) -> int:
    """Return how many features to remove when so many (2 or more) remain: at least 1, never all.

    Parameters
    ----------
    schedule : str
        ``"1"`` for one feature at a time; a share of those that remain, like ``"0.1"``; stages of these, like
        ``"1000:0.5,100:0.1,1"``: while more than 1000 remain half of them, while more than 100 a tenth, else
        one; or ``"auto"``, which is ``"50:0.1,1"``.
    remaining : int
        How many there are.

    Raises
    ------
    ValueError
        If the schedule is none of these.

    Examples
    --------
    >>> [step_size("1000:0.5,100:0.1,1", remaining) for remaining in (2000, 1000, 101, 100, 2)]
    [1000, 100, 10, 1, 1]
    """
    share = next(share for above, share in _stages(schedule) if remaining > above)
    # 0.29 * 100 is 28.999…: without the little more, a share would now and then lose a feature.
    return 1 if share == 1 else min(max(1, int(share * remaining + 1e-9)), remaining - 1)


def schedules() -> Constraint:
    """Return the constraint of schedules."""

    def found(value: object) -> str:
        text = str(value).strip()
        _stages(text)
        return text

    return Constraint(
        "1, a share of the features above 0 and below 1, stages of these such as 1000:0.5,100:0.1,1, or 'auto'",
        found,
    )


def _stages(schedule: str) -> list[tuple[int, float]]:
    """Return above how many features each stage holds, and its share, 1 for one feature; the last above 0."""
    *stages, last = (AUTO if schedule == "auto" else schedule).split(",")
    pairs = [stage.split(":") for stage in stages] + [["0", last]]
    found = [(int(above), float(share)) for above, share in pairs]
    limits = [above for above, _ in found]
    if limits != sorted(set(limits), reverse=True) or not all(0 < share <= 1 for _, share in found):
        raise ValueError
    return found
