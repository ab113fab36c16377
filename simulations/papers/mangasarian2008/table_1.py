"""Table 1: the errors of sharing all, of sharing kernels with a random matrix, and of sharing nothing."""

from simulations.papers.mangasarian2008.experiment import ALONE, CELLS, FOLDS, IDEAL, ROWS, SHARED, fold_run
from simulations.papers.mangasarian2008.sets import PRINTED, SETS
from simulations.papers.reproduction import REPRODUCTIONS, Place, Plan, Reproduction, by_place
from simulations.papers.run import Result

WAYS = {"rows of B": ROWS, "Ideal": IDEAL, "PPSVM": SHARED, "No sharing": ALONE}
SUBSTITUTED = (
    "The uniform designs of Huang et al. (their web site is not to be had): 30 scrambled Sobol points, twice.",
    "The range of mu ('as described' there): 0.01 to 20, divided by the median squared distance of training rows.",
    f"No sharing: the mean over {CELLS} cells of each fold, drawn at random, and not over all of them.",
    "The ideal classifier does not depend on the column blocks; it is trained once, and stands in each row.",
    "The folds, which rows are in which cell, and the random numbers. Labels of Bupa: the selector field, as there.",
)
MANGASARIAN_ERRORS = (
    "Before (2.5) the paper asks for at least n rows of B, for accuracy; (2.5), for privacy, for fewer. (2.5) holds.",
    "m̄ < n_j does not keep a row from those who know B_j: with three columns of 0 and 1 it is computed exactly.",
)


@REPRODUCTIONS.register("mangasarian-table-1")
class MangasarianTable1(Reproduction):
    """Seven data sets in up to eight column blocks; ten folds, a run each."""

    title = "Table 1, error rates by number of column blocks, Gaussian kernel"
    unit = "share of wrong rows; rows of B"
    repeats, quick_repeats = FOLDS, 1
    minutes, quick_minutes = 240, 25
    paper = by_place(tuple(WAYS), {f"{name}, s = {blocks}": row for (name, blocks), row in PRINTED.items()})
    substituted = SUBSTITUTED
    errors = MANGASARIAN_ERRORS

    def plan(self, repeats: int) -> Plan:
        """Return a run for each fold; one for the rows of B, which need none."""
        return {
            (f"{name}, s = {blocks}", column): [
                fold_run(way, SETS[name], blocks, fold) for fold in range(1 if way == ROWS else repeats)
            ]
            for column, way in WAYS.items()
            for name, blocks in PRINTED
        }

    def measure(self, place: Place, result: Result) -> float:
        """Return the error, or the rows of B."""
        return float(result["rows_of_matrix"]) if place[1] == "rows of B" else 1.0 - float(result["accuracy"])
