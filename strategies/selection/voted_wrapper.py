"""PPFSVW: feature selection by the votes of three wrapper criteria (Lu 2016, section 5.2.3 and figure 5.1)."""

from collections.abc import Mapping, Sequence

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.systems.scaling import NO_FOLD
from flower_pansvm.systems.selection import SUPPORT
from strategies.api import AggregateResult, Federation, Problems, pack_duals
from strategies.selection.criteria import CRITERIA, criteria_of
from strategies.selection.elimination import Elimination
from strategies.selection.filters import ClassMoments
from strategies.selection.subsets import Score, Trained, TrainingJob, without
from strategies.selection.voting import least_important, rank_sums, settle, vote


class VotedWrapper(Elimination):
    """The PPFSVW strategy.

    Attributes
    ----------
    criteria : tuple of str
        The criteria that vote; a single one decides alone: SVM-RFE, RSVM or SVM-t.
    """

    criteria: tuple[str, ...] = CRITERIA

    def eliminate(self, federation: Federation) -> None:
        """Remove features as section 5.2.3 says, steps 1 to 4, until one is left."""
        classes = self.class_moments(federation)
        current, score = self.train_and_score(self.mask(range(classes.count.shape[1])), similar=None)
        while True:
            self.record.add_point(current, score)
            features = current.features
            if np.count_nonzero(features) == 1:
                return
            count = self.size(features)
            scores = self.criteria_scores(federation, current, classes)
            # Without enough support vectors on both sides, SVM-t scores every feature 0 and has no vote.
            voters = [name for name in self.criteria if scores[name].any()] or list(self.criteria)
            proposals = {name: least_important(scores[name], features, count).tolist() for name in voters}
            if agreed := vote([np.array(proposal) for proposal in proposals.values()])[:count].tolist():
                self.record.add_step(features, proposals, {}, agreed)
                current, score = self.train_and_score(without(features, agreed), similar=current)
            else:
                reduced = self._train_without(current, proposals)
                accuracies = {name: score.accuracy for name, (_, score) in reduced.items()}
                best = settle(proposals, accuracies, rank_sums([scores[name] for name in voters], features))
                self.record.add_step(features, proposals, accuracies, proposals[best])
                current, score = reduced[best]

    def criteria_scores(
        self, federation: Federation, trained: Trained, classes: ClassMoments
    ) -> dict[str, Floats]:
        """Return each criterion's score of every feature, 0 for removed ones, by one secure sum."""
        states, features = trained.states[NO_FOLD], trained.features
        problems = [state.problem for state in states]
        question = pack_duals(problems, [state.duals() for state in states])
        sums = federation.secure_sum(SUPPORT, question, relations=wrong_support)
        support = [
            ClassMoments(np.repeat(count[:, None], total.shape[1], axis=1), total, square)
            for count, total, square in zip(sums.count, sums.total, sums.square, strict=True)
        ]
        remaining = ClassMoments(
            *(values[:, features] for values in (classes.count, classes.total, classes.square))
        )
        sides = [remaining.sides(problem.pair) for problem in problems]
        by_criterion = criteria_of(sums.weights, sides, support)
        scores = {name: np.zeros(len(features)) for name in self.criteria}
        for name in self.criteria:
            scores[name][features] = by_criterion[name]
        return scores

    def _train_without(
        self, current: Trained, proposals: Mapping[str, Sequence[int]]
    ) -> dict[str, tuple[Trained, Score]]:
        """Train without the features of each proposal, all models in one batch, and evaluate them."""
        reduced = {name: Trained(without(current.features, proposal)) for name, proposal in proposals.items()}
        self.subsets.train([TrainingJob(subset, self.subsets.folds, current) for subset in reduced.values()])
        scores = self.subsets.score(list(reduced.values()))
        return dict(zip(reduced, zip(reduced.values(), scores, strict=True), strict=True))


class SvmRfe(VotedWrapper):
    """SVM-RFE: the squared weight decides (Lu 2016, section 5.2.2.1)."""

    criteria = ("svm-rfe",)


class Rsvm(VotedWrapper):
    """RSVM: the weight times the distance of the class means decides (Lu 2016, section 5.2.2.2)."""

    criteria = ("rsvm",)


class SvmT(VotedWrapper):
    """SVM-t: the t-statistic over the support vectors decides (Lu 2016, section 5.2.2.3)."""

    criteria = ("svm-t",)


def wrong_support(result: AggregateResult) -> Problems:
    """Yield the relations that sums over support vectors, a part of the rows, break."""
    known, features = result.request.rows, result.sums["weights"].shape[-1]
    yield from result.wrong_shape(total=(-1, 2, features), square=(-1, 2, features))
    if known is not None and (result.sums["count"] > known.train.sum()).any():
        yield "'count' has more support vectors than there are rows"
    yield from result.negative_variance()
