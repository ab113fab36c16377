"""The number of features that a step of the elimination removes: one (the paper), or more while many remain."""

from flower_pansvm.constraints import Constraint

AUTO = "50:0.1,1"
"""The schedule "auto": a tenth of the features while more than 50 remain, then one by one."""


def step_size(schedule: str, remaining: int) -> int:
    """Return the number of features to remove, at least 1 and never all.

    Parameters
    ----------
    schedule : str
        ``"1"`` for one feature at a time; a share of those that remain, like ``"0.1"``; stages of these, like
        ``"1000:0.5,100:0.1,1"``: while more than 1000 remain half of them, while more than 100 a tenth, else
        one; or ``"auto"``, which is ``"50:0.1,1"``.
    remaining : int
        Number of features that remain, at least 2.

    Raises
    ------
    ValueError
        If the schedule is invalid.

    Examples
    --------
    >>> [step_size("1000:0.5,100:0.1,1", remaining) for remaining in (2000, 1000, 101, 100, 2)]
    [1000, 100, 10, 1, 1]
    """
    share = next(share for above, share in _stages(schedule) if remaining > above)
    # 0.29 * 100 is 28.999…: without the tolerance, some shares would remove one feature less.
    return 1 if share == 1 else min(max(1, int(share * remaining + 1e-9)), remaining - 1)


def schedules() -> Constraint:
    """Return the constraint of schedules."""

    def checked(value: object) -> str:
        text = str(value).strip()
        _stages(text)
        return text

    return Constraint(
        "1, a share of the features above 0 and below 1, stages of these such as 1000:0.5,100:0.1,1, or 'auto'",
        checked,
    )


def _stages(schedule: str) -> list[tuple[int, float]]:
    """Return the stages: the number of features above which one holds, and its share, 1 for one feature."""
    *earlier, last = (AUTO if schedule == "auto" else schedule).split(",")
    pairs = [stage.split(":") for stage in earlier] + [["0", last]]
    stages = [(int(above), float(share)) for above, share in pairs]
    limits = [above for above, _ in stages]
    if limits != sorted(set(limits), reverse=True) or not all(0 < share <= 1 for _, share in stages):
        raise ValueError
    return stages
