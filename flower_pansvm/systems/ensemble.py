"""Ensemble voting: each hospital's own model votes on the class of all hospitals' test rows. No model leaves a site."""

from dataclasses import dataclass

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.records import Texts
from flower_pansvm.systems.local_only import LocalScoresQuestion
from flower_pansvm.tasks import COUNT, SQUARES, Broadcast, Nothing, Task, disclosed, summed


@dataclass(frozen=True)
class HeldOutAnswer:
    """A site's test rows without their labels."""

    # (rows, features): in the tables' own units, NaN where missing
    rows: Floats = disclosed(consent="test-rows")


HELD_OUT = Task("held_out", "query", Nothing, HeldOutAnswer)


@dataclass(frozen=True)
class BallotBroadcast:
    """The test rows of all sites."""

    rows: Floats  # (rows, features), as in HeldOutAnswer
    sites: Texts  # (rows,): name of the site that each row is from; a site's rows are in its own order


BALLOT = Broadcast("ballot", BallotBroadcast, cells=True)


@dataclass(frozen=True)
class VotesAnswer:
    """Votes of the sites' models by row and class."""

    # (rows of the ballot, classes): 1 for the class that the site's model says
    votes: Floats = summed(1.0, consent="test-rows", shape=(-1, "classes"), count=True)


VOTES = Task("votes", "train", LocalScoresQuestion, VotesAnswer)
"""Answered for one ballot and one set of parameters a run."""


@dataclass(frozen=True)
class EnsembleScoresQuestion:
    """What the sites' models have voted for."""

    predicted: Ints  # (rows of the ballot,): class index


@dataclass(frozen=True)
class EnsembleScoresAnswer:
    """Counts of a site's own test rows, by true and predicted class."""

    confusion: Floats = summed(COUNT, consent="test-rows", shape=("classes", "classes"), count=True)
    squares: Floats = summed(SQUARES, consent="test-rows", shape=(-1, -1), count=True)  # see patient_squares


ENSEMBLE_SCORES = Task("ensemble_scores", "evaluate", EnsembleScoresQuestion, EnsembleScoresAnswer)
"""Answered once a run: counts by two lists of classes would reveal the labels of the rows in which they differ."""
