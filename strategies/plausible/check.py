"""Whether a sum can be: what the coordinator checks of every sum as soon as it is opened.

A site can contribute what it likes, and a sum hides it. But rows cannot be negative, nor a loss, and each row counts
once. A sum that breaks such a rule ends the run; whose fault it is, a sum cannot say. What keeps within the rules goes
unnoticed (docs/threat-model.md).
"""

import math
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from flower_pansvm.errors import FederationError
from flower_pansvm.registry import Registry, import_modules
from strategies.plausible.opened import ROUNDING, Opened

Problems = Iterator[str]

CHECKS: Registry[Callable[[Opened], Problems]] = Registry("check of the sums of task")
"""By the name of a task, what is checked of its sums besides that they are finite and within the bounds.

Each yields why a sum cannot be. It enters itself, in the file in this folder that has the phase's word.
"""


def check_sum(opened: Opened, site: str = "") -> None:
    """Check that a sum can be.

    Parameters
    ----------
    opened : Opened
        The sum.
    site : str
        The site, where what one site has contributed can be seen.

    Raises
    ------
    FederationError
        If it cannot. The text says which result of which task, and why.
    """
    for problem in _problems(opened):
        if site:
            raise FederationError(
                f"What site '{site}' contributed to task '{opened.task.name}' cannot be: {problem}. It runs another "
                "version of flower-pansvm, or a changed one, or its rows have changed during the run."
            )
        raise FederationError(
            f"The sum of task '{opened.task.name}' over {len(opened.sites)} sites cannot be: {problem}. What one site "
            "contributed is wrong: it runs another version of flower-pansvm, or a changed one, or its rows have "
            "changed during the run. A sum does not say which; runs without one hospital at a time do."
        )


def _problems(opened: Opened) -> Problems:
    """Yield why the sum cannot be; the checks after the first problem may rely on it not being there."""
    for name, values in opened.sums.items():
        if not np.isfinite(values).all():
            yield f"'{name}' holds something that is not a finite number"
        bound = opened.bounds[name]
        if math.isfinite(bound) and np.abs(values).max(initial=0.0) > (
            len(opened.sites) * bound * (1 + ROUNDING) + opened.slack.get(name, 0.0)
        ):
            yield f"'{name}' is larger than the bounds of all sites allow"
    if opened.task.name in _all_checks():
        yield from CHECKS[opened.task.name](opened)


@cache
def _all_checks() -> Registry[Callable[[Opened], Problems]]:
    """Return the checks of all files in this folder, into which every sum would look."""
    import_modules("strategies.plausible")
    return CHECKS
