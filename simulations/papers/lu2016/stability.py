"""What Tables 3.4 and 3.5 and Figures 3.7 to 3.9 share: PAN-SVM and ADMM at 5, 10 and 20 sites, two splits."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from flower_pansvm.terms import Scalar
from simulations.papers.lu2016.sets import BOYD, STOP, ThesisSet, chapter_3
from simulations.papers.reproduction import Cell, Place, Plan, Reproduction
from simulations.papers.run import Result, Run

SITES = (5, 10, 20)
SPLITS = {"same": "iid", "different": "feature:"}
"""The split by the paper's names; the second one goes by the first feature."""

STRATEGIES: Mapping[str, tuple[str, Mapping[str, Scalar]]] = {
    "PAN-SVM": ("pan-svm", {}),
    "SVM-ADMM": ("svm-admm", {}),
    "PAN-SVM, exact": ("pan-svm", {"preset": "exact"}),
    "SVM-ADMM, tight": ("svm-admm", {"adaptive_rho": True, "abs_tol": 1e-5, "rel_tol": 1e-4}),
}
"""Strategy and settings: the paper's two, and both of them trained to the optimum."""

TRAINING = ("warm start", "cutting planes", "consensus")
"""Phases that solve the SVM: what the paper's seconds are, all sites one after the other on one machine."""

WHATS = ("seconds", "rounds", "MB")
SUBSTITUTED = (
    "MATLAB on one machine without a network: seconds of the phases that solve the SVM, all sites and the coordinator "
    "in one process, messages and masks included. Rounds and megabytes of all sites are what a federation pays.",
    "The landmarks' share (not stated): 25 %. The feature that Pima is split by (not stated): the first one.",
    STOP,
    BOYD,
    "Boyd's tolerances stop ADMM far from the optimum that PAN-SVM is trained to. 'tight' has tolerances of 1e-5 and "
    "1e-4 and an adaptive rho; 'exact' is PAN-SVM with preset=exact.",
)


def seconds(result: Result) -> float:
    """Return the seconds of the phases that solve the SVM."""
    return float(sum(result["seconds"].get(phase, 0.0) for phase in TRAINING))


def rounds(result: Result) -> float:
    """Return the iterations: round trips of cutting planes, or of ADMM."""
    return float(result["consensus_rounds"] if "consensus_rounds" in result else result["cut_rounds"])


def runs_of(one: ThesisSet, first: str, split: str, sites: int, name: str, repeats: int) -> list[Run]:
    """Return the runs of one of `STRATEGIES`, one for each seed; ``first`` is the set's first feature."""
    way = SPLITS[split] + (first if SPLITS[split].endswith(":") else "")
    strategy, more = STRATEGIES[name]
    return [chapter_3(one, seed, strategy, split=way, sites=sites, **more) for seed in range(repeats)]


class StabilityTable(Reproduction):
    """Base of Tables 3.4 and 3.5.

    Attributes
    ----------
    one : ThesisSet
        The data set.
    first : str
        Its first feature.
    """

    one: ClassVar[ThesisSet]
    first: ClassVar[str]
    unit = "seconds, round trips, MB that all sites send"
    timed = True
    substituted = SUBSTITUTED

    def plan(self, repeats: int) -> Plan:
        """Return runs of every strategy for each split and number of sites."""
        return {
            (f"{split}, {sites} sites, {name}", what): runs_of(
                self.one, self.first, split, sites, name, repeats
            )
            for split in SPLITS
            for sites in SITES
            for name in STRATEGIES
            for what in WHATS
        }

    def measure(self, place: Place, result: Result) -> float:
        """Return seconds, round trips or megabytes."""
        if place[1] == "MB":
            return float(result["bytes_up"]) / 1e6
        return seconds(result) if place[1] == "seconds" else rounds(result)


def printed(means: Sequence[float], name: str) -> dict[Place, float]:
    """Return the paper's seconds of a strategy, in the order of splits and sites."""
    rows = [f"{split}, {sites} sites, {name}" for split in SPLITS for sites in SITES]
    return {(row, "seconds"): mean for row, mean in zip(rows, means, strict=True)}


def by_strategy(cells: Sequence[Cell]) -> list[Cell]:
    """Return cells of one kind of number for a plot: a row a split and number of sites, a column a strategy."""
    parts = [(cell, cell.row.split(", ", 2)) for cell in cells]
    return [replace(cell, row=f"{split}, {sites}", column=name) for cell, (split, sites, name) in parts]
