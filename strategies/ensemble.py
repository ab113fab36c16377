"""An ensemble of the hospitals' local models: the majority of their votes decides (Lu 2016's baseline)."""

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import FederationError, SettingError
from flower_pansvm.systems.ensemble import (
    BALLOT,
    ENSEMBLE_SCORES,
    HELD_OUT,
    VOTES,
    BallotBroadcast,
    EnsembleScoresQuestion,
)
from flower_pansvm.tasks import Nothing
from strategies.api import (
    Federation,
    Outcome,
    PhasedStrategy,
    SvmSettings,
    evaluate_counts,
    join,
    refusal,
    wrong_squares,
)
from strategies.local_only import local_question


class SvmEnsemble(PhasedStrategy):
    """Every site trains scikit-learn's SVC on its own rows, and all of them vote on the class of every test row.

    No model leaves a site. The test rows leave, without labels, to the coordinator and to every site that votes, if the
    hospitals have agreed to that.
    """

    settings_class = SvmSettings
    settings: SvmSettings
    makes_model = False

    def fit(self, federation: Federation) -> Outcome:
        """Collect the test rows, have the sites vote on them, and have each site count its rows by class.

        AUC is not measured: a majority has no decision value.
        """
        with federation.costs.phase("join"):
            schema = join(federation, self.settings)
        classes = len(schema.classes)
        with federation.costs.phase("held-out rows"):
            ballot = gather(federation, len(schema.columns))
            federation.broadcast(BALLOT, ballot)
        with federation.costs.phase("votes"):
            votes = federation.secure_sum(VOTES, local_question(self.settings)).votes
            _check_votes(votes, (len(ballot.rows), classes), len(federation.sites))
        top_votes = votes.max(axis=1)
        with federation.costs.phase("scores"):
            # Of classes with as many votes, argmax takes the first.
            question = EnsembleScoresQuestion(votes.argmax(axis=1))
            counts = federation.secure_sum(ENSEMBLE_SCORES, question, relations=wrong_squares)
        evaluation = evaluate_counts(counts.confusion, counts.squares)
        figures = {
            "rows_voted_on": len(votes),
            "unanimous": float((top_votes == votes.sum(axis=1)).mean()),
            "tied": float(((votes == top_votes[:, None]).sum(axis=1) > 1).mean()),
        }
        return Outcome(evaluation=evaluation, figures=figures)


def gather(federation: Federation, columns: int) -> BallotBroadcast:
    """Return the test rows of all sites, one site after the other.

    Raises
    ------
    SettingError
        If no site has any.
    FederationError
        If a site's rows do not have the common columns.
    """
    rows = {name: answer.rows for name, answer in federation.collect(HELD_OUT, Nothing()).items()}
    for name, site_rows in rows.items():
        if site_rows.ndim != 2 or site_rows.shape[1] != columns or np.isinf(site_rows).any():
            raise refusal(name, f"its test rows are not a table of {columns} columns of numbers")
    if sum(map(len, rows.values())) == 0:
        raise SettingError(
            "No site has a test row to vote on, which is all that an ensemble does. Raise test-fraction."
        )
    return BallotBroadcast(
        np.concatenate(list(rows.values())),
        tuple(name for name, site_rows in rows.items() for _ in site_rows),
    )


def _check_votes(votes: Floats, shape: tuple[int, int], sites: int) -> None:
    """Check that every site has voted once for each row."""
    if votes.shape != shape or (votes.sum(axis=1) != sites).any():
        raise FederationError(
            "The votes are not one of each site for each row. A site runs another version of flower-pansvm, or a "
            "changed one; in a resumed run, the sites may differ from those before. Start a new run with the same "
            "version at all sites."
        )
