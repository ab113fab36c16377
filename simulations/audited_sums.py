"""Which rows were in which sum of a run with simulated sites, and with what factor: the truth that an audit needs.

Every question of the run is put to the sites again, in this process.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flwr.app import Context, RecordDict
from numpy.typing import NDArray

from clients import broadcasts
from clients.answering import Inputs
from clients.blur import SITES, draw_of
from clients.landmarks import own_centres, scaled_without
from clients.pan_svm import fewest_blurred, labels_of
from clients.secret import SECRET, secret_of
from clients.selection import cell_weights, support_vectors
from clients.site import Site
from flower_pansvm import messages, records
from flower_pansvm.cutting_planes.cuts import Question, RowFactors, blocks
from flower_pansvm.cutting_planes.duals import unpack_duals
from flower_pansvm.cutting_planes.packing import unpack_problems, unpack_questions
from flower_pansvm.cutting_planes.problem import Problem
from flower_pansvm.landmarks import weighted_totals
from flower_pansvm.multiclass import Pair
from strategies.settings import Settings
from strategies.transcript import TranscriptSum

Told = tuple[str, ...]
"""Digests of all that mapped rows depend on."""


@dataclass(frozen=True)
class CutQuestion:
    """The question of one problem within a sum."""

    asked: TranscriptSum
    problem: Problem
    question: Question


class SimulatedSites:
    """The sites of a finished run once more, in this process.

    Parameters
    ----------
    settings : Settings
        Settings of the run.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._told: object = None
        self._sites: list[Site] = []

    def before(self, asked: TranscriptSum) -> list[Site]:
        """Return all sites as they were when they were asked for a sum, lost ones too."""
        if asked.told is not self._told:
            content = RecordDict()
            for name, values in asked.told.items():
                records.put(content, broadcasts.PREFIX + name, values)
            self._told = asked.told
            self._sites = [self._site(number, content) for number in range(self.settings.sites)]
        return self._sites

    def _site(self, number: int, told: RecordDict) -> Site:
        node = {"partition-id": number, "num-partitions": self.settings.sites}
        context = Context(0, number, dict(node), RecordDict(), self.settings.run_config)
        broadcasts.keep(context, told)
        site = Site(context)
        site.keep(SECRET, secret_of(site))
        site.first(SITES, self.settings.sites)
        return site


def smallest_cluster(sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> int | None:
    """Return the fewest rows of one site behind a centre of k-means, local or federated; None if there is no centre."""
    sizes: list[int] = []
    for one in transcript:
        if one.task in CLUSTER_SIZES:
            for site in sites.before(one):
                if site.name in one.sites:
                    counts = np.concatenate(CLUSTER_SIZES[one.task](site, one.inputs))
                    sizes += counts[counts > 0].tolist()
    return int(min(sizes)) if sizes else None


def _own_cluster_sizes(site: Site, inputs: Inputs) -> list[NDArray[Any]]:
    """Return the rows behind each of a site's centres, for each scaling."""
    return [own_centres(site, inputs, number)[1] for number in range(len(inputs["folds"]))]


def _assigned_sizes(site: Site, inputs: Inputs) -> list[NDArray[Any]]:
    """Return the rows of a site in each sum of a step of federated k-means, for each scaling."""
    sizes = []
    for number, (fold, count) in enumerate(zip(inputs["folds"], inputs["counts"], strict=True)):
        X, centres = scaled_without(site, number, fold), inputs["centres"][number, :count]
        # With weights of 1 each, their sum is the number of rows.
        sizes.append(weighted_totals(X, centres, np.ones(X.shape), inputs["min_cluster"])[1][:, 0])
    return sizes


CLUSTER_SIZES = {messages.LANDMARKS.name: _own_cluster_sizes, messages.ASSIGN.name: _assigned_sizes}


def questions_by_map(
    sites: SimulatedSites, transcript: Sequence[TranscriptSum]
) -> dict[Told, list[CutQuestion]]:
    """Return all questions of cutting planes by feature map."""
    found: dict[Told, list[CutQuestion]] = {}
    for one in transcript:
        if one.task != messages.CUTS.name:
            continue
        problems, questions = unpack_problems(one.inputs), unpack_questions(one.inputs)
        site = sites.before(one)[0]
        told = {number: site.told_about(number) for number in {problem.feature_map for problem in problems}}
        for problem, question in zip(problems, questions, strict=True):
            found.setdefault(told[problem.feature_map], []).append(CutQuestion(one, problem, question))
    return found


def factors_by_site(sites: SimulatedSites, questions: Sequence[CutQuestion]) -> list[NDArray[np.float64]]:
    """Return what each training row is multiplied by in the sums that questions about one feature map have brought.

    Returns
    -------
    list of ndarray of shape (sums, rows)
        For each site. In the order of the questions: c y times the row's weight for each point, then v if the curvature
        was asked for. Zeros where the site had no part in a sum.
    """
    parts: list[list[NDArray[np.float64]]] = [[] for _ in range(sites.settings.sites)]
    for one in questions:
        for part, site in zip(parts, sites.before(one.asked), strict=True):
            part.append(_factors(site, one))
    return [np.vstack(part) for part in parts]


def _factors(site: Site, one: CutQuestion) -> NDArray[np.float64]:
    """Return one site's factors in the sums of one question, shape (sums, rows)."""
    labels = labels_of(site, one.problem)
    question = replace(one.question, blur=max(one.question.blur, fewest_blurred(site, one.problem)))
    rows, has_curvature = len(labels.y), question.leading >= 0
    signed, v = np.zeros((rows, len(question.points))), np.zeros((rows, int(has_curvature)))
    if site.name in one.asked.sites:
        factors = RowFactors(labels, question, draw_of(site, one.problem))
        mapped = site.mapped_train(one.problem.feature_map)
        for block in blocks(rows):
            F = mapped(block)
            signed[block], _ = factors.of_cuts(F, block)
            if has_curvature:
                v[block, 0] = factors.of_curvature(F, block)
        blurred, change = factors.blurred()
        signed[blurred] += change
        signed *= labels.y[:, None]
    return np.hstack([signed, v]).T


def row_factors_by_site(
    sites: SimulatedSites, transcript: Sequence[TranscriptSum]
) -> list[NDArray[np.float64]]:
    """Return what each training row is multiplied by in the sums of a feature selection about the rows themselves.

    Support vectors have another weight for each feature; it is looked at the one that is in all sums, so that its cells
    stand for the rows. Cells that are missing are taken as if they were there. What the coordinator knows is divided
    out: the sum of the cutting planes' dual variables, so that a row beyond the margin has its weight as in a cut.

    Returns
    -------
    list of ndarray of shape (sums, rows)
        For each site. In the order of the sums, for each problem: alpha_i y_i, the weights of the support vectors
        of the positive, and of the negative side. Then a 1 for the rows of each class and of each fold, and the rows'
        weight for those of each side of a problem. Empty if the run selected no features.
    """
    parts: list[list[NDArray[np.float64]]] = [[] for _ in range(sites.settings.sites)]
    sides: dict[tuple[Pair, tuple[float, float]], Problem] = {}
    # Features are only ever removed: one that is in the last sum is in all.
    for one in [one for one in transcript if one.task == messages.SUPPORT.name][-1:]:
        last = unpack_problems(one.inputs)[0].feature_map
        feature = np.flatnonzero(one.told[messages.feature_map(last)]["features"])[:1]
    for one in transcript:
        if one.task == messages.SUPPORT.name:
            problems = unpack_problems(one.inputs)
            sides.update({(problem.pair, problem.weights): problem for problem in problems})
            for part, site in zip(parts, sites.before(one), strict=True):
                part.append(_support_factors(site, one, problems, feature))
    for one in transcript:
        if one.task == messages.CLASS_MOMENTS.name:
            for part, site in zip(parts, sites.before(one), strict=True):
                part.append(_moment_factors(site, one, list(sides.values()), sites.settings.folds))
    rows = [len(site.train().classes) for site in sites.before(transcript[0])]
    return [np.vstack([np.empty((0, count)), *part]) for part, count in zip(parts, rows, strict=True)]


def _support_factors(
    site: Site, one: TranscriptSum, problems: Sequence[Problem], feature: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return one site's factors in one sum over support vectors, shape (3 * problems, rows)."""
    found = np.zeros((3 * len(problems), len(site.train().classes)))
    if site.name in one.sites:
        for i, (problem, duals) in enumerate(zip(problems, unpack_duals(one.inputs), strict=True)):
            signed, both = support_vectors(site, problem, duals)
            found[3 * i] = signed / duals.beta.sum()
            for k, side in enumerate(both, start=1):
                cells = cell_weights(site, problem, side, feature, bool(one.inputs["blur"]))
                found[3 * i + k, side] = cells[:, 0]
    return found


def _moment_factors(
    site: Site, one: TranscriptSum, problems: Sequence[Problem], folds: int
) -> NDArray[np.float64]:
    """Return one site's factors in the sums by class, by side of each problem, and by fold, shape (sums, rows)."""
    by_class = site.train().classes == np.arange(len(site.schema().classes))[:, None]
    by_fold = site.folds() == np.arange(folds)[:, None]
    sides = [by_class, by_fold]
    for problem in problems:
        labels = labels_of(site, problem)
        sides += [labels.weight * (labels.y > 0), labels.weight * (labels.y < 0)]
    return np.vstack(sides) * float(site.name in one.sites)
