"""What cannot be of sums of the sites' own models."""

from flower_pansvm.systems.admm import CONSENSUS
from strategies.plausible.check import CHECKS, Problems
from strategies.plausible.opened import Opened


@CHECKS.register(CONSENSUS.name)
def consensus(opened: Opened) -> Problems:
    """Yield what cannot be of models, and of squared lengths."""
    problems = opened.question.points.shape[1:2]
    lengths = ("primal", "model_size", "dual_size")
    yield from opened.misshapen(models=opened.question.points.shape[1:], **dict.fromkeys(lengths, problems))
    for name in lengths:
        if opened.negative(name):
            yield f"'{name}' holds the square of a length, and is negative"
