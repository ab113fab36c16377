"""What Tables 3.4 and 3.5 and Figures 3.7 to 3.9 share: PAN-SVM and ADMM at 5, 10 and 20 sites, two splits."""

from collections.abc import Sequence
from typing import ClassVar

from simulations.papers.lu2016.sets import BOYD, STOP, PaperSet, chapter_3
from simulations.papers.reproduction import Place, Plan, Reproduction
from simulations.papers.run import Result, Run

SITES = (5, 10, 20)
SPLITS = {"same": "iid", "different": "feature:"}
"""The split by the paper's names; the second one goes by the first feature."""

STRATEGIES = {"PAN-SVM": "pan-svm", "SVM-ADMM": "svm-admm"}
TRAINING = ("warm start", "cutting planes", "consensus")
"""Phases that solve the SVM: what the paper's seconds are, all sites one after the other on one machine."""

WHATS = ("seconds", "rounds", "MB")
SUBSTITUTED = (
    "MATLAB on one machine without a network: seconds of the phases that solve the SVM, all sites and the coordinator "
    "in one process, messages and masks included. Rounds and megabytes of all sites are what a federation pays.",
    "The landmarks' share (not stated): 25 %. The feature that Pima is split by (not stated): the first one.",
    STOP,
    BOYD,
)


def seconds(result: Result) -> float:
    """Return the seconds of the phases that solve the SVM."""
    return float(sum(result["seconds"].get(phase, 0.0) for phase in TRAINING))


def rounds(result: Result) -> float:
    """Return the iterations: round trips of cutting planes, or of ADMM."""
    return float(result["consensus_rounds"] if "consensus_rounds" in result else result["cut_rounds"])


def runs_of(one: PaperSet, first: str, split: str, sites: int, strategy: str, repeats: int) -> list[Run]:
    """Return the runs behind a cell, one for each seed; ``first`` is the set's first feature."""
    way = SPLITS[split] + (first if SPLITS[split].endswith(":") else "")
    return [chapter_3(one, seed, STRATEGIES[strategy], split=way, sites=sites) for seed in range(repeats)]


class StabilityTable(Reproduction):
    """Base of Tables 3.4 and 3.5.

    Attributes
    ----------
    one : PaperSet
        The data set.
    first : str
        Its first feature.
    """

    one: ClassVar[PaperSet]
    first: ClassVar[str]
    unit = "seconds, round trips, MB that all sites send"
    timed = True
    substituted = SUBSTITUTED

    def plan(self, repeats: int) -> Plan:
        """Return runs of both strategies for each split and number of sites."""
        return {
            (f"{split}, {sites} sites", f"{name} {what}"): runs_of(
                self.one, self.first, split, sites, name, repeats
            )
            for split in SPLITS
            for sites in SITES
            for what in WHATS
            for name in STRATEGIES
        }

    def measure(self, place: Place, result: Result) -> float:
        """Return seconds, round trips or megabytes."""
        what = place[1].split()[-1]
        if what == "seconds":
            return seconds(result)
        return rounds(result) if what == "rounds" else result["bytes_up"] / 1e6


def printed(means: Sequence[float], name: str) -> dict[Place, float]:
    """Return the paper's seconds of a strategy, in the order of splits and sites."""
    rows = [f"{split}, {sites} sites" for split in SPLITS for sites in SITES]
    return {(row, f"{name} seconds"): mean for row, mean in zip(rows, means, strict=True)}
