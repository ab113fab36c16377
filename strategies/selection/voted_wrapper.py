"""PPFSVW: feature selection by the votes of three wrapper criteria (Lu 2016, section 5.2.3 and figure 5.1)."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.systems.scaling import NO_FOLD
from flower_pansvm.systems.selection import SUPPORT
from strategies.api import AggregateResult, Federation, Problems, pack_duals
from strategies.selection.criteria import CRITERIA, rsvm, svm_rfe, svm_t
from strategies.selection.elimination import Elimination
from strategies.selection.filters import ClassMoments
from strategies.selection.subsets import Score, Trained, Wanted, without
from strategies.selection.voting import least_important, rank_sums, settle, vote


class VotedWrapper(Elimination):
    """The PPFSVW strategy.

    Attributes
    ----------
    criteria : tuple of str
        The criteria that vote. With a single one it alone decides: SVM-RFE, RSVM or SVM-t.
    """

    criteria: tuple[str, ...] = CRITERIA

    def eliminate(self, federation: Federation) -> None:
        """Remove features as section 5.2.3 says, steps 1 to 4, until one is left."""
        classes = self.class_moments(federation)
        current, score = self.train_and_score(self.mask(range(classes.count.shape[1])), near=None)
        while True:
            self.record.add_point(current, score)
            features = current.features
            if np.count_nonzero(features) == 1:
                return
            count = self.size(features)
            scores = self.criteria_scores(federation, current, classes)
            # Without enough support vectors on both sides, SVM-t says nothing of any feature, and has no vote.
            speaking = [name for name in self.criteria if scores[name].any()] or list(self.criteria)
            proposals = {name: least_important(scores[name], features, count).tolist() for name in speaking}
            agreed = vote([np.array(own) for own in proposals.values()])[:count].tolist()
            if agreed:
                self.record.add_step(features, proposals, {}, agreed)
                current, score = self.train_and_score(without(features, agreed), near=current)
            else:
                tried = self._try(current, proposals)
                accuracies = {name: own.accuracy for name, (_, own) in tried.items()}
                best = settle(proposals, accuracies, rank_sums([scores[name] for name in speaking], features))
                self.record.add_step(features, proposals, accuracies, proposals[best])
                current, score = tried[best]

    def criteria_scores(
        self, federation: Federation, trained: Trained, classes: ClassMoments
    ) -> dict[str, NDArray[np.float64]]:
        """Return each criterion's score of every feature, 0 for those that are gone, by one secure sum."""
        states, features = trained.states[NO_FOLD], trained.features
        problems = [state.problem for state in states]
        question = pack_duals(problems, [state.duals() for state in states])
        sums = federation.secure_sum(SUPPORT, question, relations=wrong_support)
        support = [
            ClassMoments(np.repeat(number[:, None], total.shape[1], axis=1), total, square)
            for number, total, square in zip(sums.count, sums.total, sums.square, strict=True)
        ]
        kept = ClassMoments(*(part[:, features] for part in (classes.count, classes.total, classes.square)))
        sides = [kept.sides(problem.pair) for problem in problems]
        own = {
            "svm-rfe": svm_rfe(sums.weights),
            "rsvm": rsvm(sums.weights, sides),
            "svm-t": svm_t(support),
        }
        scores = {name: np.zeros(len(features)) for name in self.criteria}
        for name in self.criteria:
            scores[name][features] = own[name]
        return scores

    def _try(
        self, current: Trained, proposals: Mapping[str, Sequence[int]]
    ) -> dict[str, tuple[Trained, Score]]:
        """Train without the features of each proposal, all models in one batch, and try them."""
        tried = {name: Trained(without(current.features, own)) for name, own in proposals.items()}
        self.subsets.train([Wanted(one, self.subsets.folds, current) for one in tried.values()])
        scores = self.subsets.score(list(tried.values()))
        return dict(zip(tried, zip(tried.values(), scores, strict=True), strict=True))


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
    """Yield what is wrong of sums over support vectors, which are some of the rows."""
    known, features = result.request.rows, result.sums["weights"].shape[-1]
    yield from result.wrong_shape(total=(-1, 2, features), square=(-1, 2, features))
    if known is not None and (result.sums["count"] > known.train.sum()).any():
        yield "'count' has more support vectors than there are rows"
    yield from result.negative_variance()
