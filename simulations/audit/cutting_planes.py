"""Cutting planes: which rows are in which cut and which curvature, by feature map."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clients.site import Site
from clients.systems.pan_svm import labels_of, mapped_train, told_about
from flower_pansvm.systems.pan_svm.cuts import Problem, Question
from flower_pansvm.systems.pan_svm.tasks import CUTS, FEATURE_MAP
from simulations.audit.parts_in_cuts import parts_in_cuts
from simulations.audit.phase import PHASES, Factors, Phase
from simulations.audit.sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum

Told = tuple[str, ...]
"""Digests of all that mapped rows depend on."""


@dataclass(frozen=True)
class CutQuestion:
    """The question of one problem within a sum."""

    asked: TranscriptSum
    problem: Problem
    question: Question


def questions_by_map(
    sites: SimulatedSites, transcript: Sequence[TranscriptSum]
) -> dict[Told, list[CutQuestion]]:
    """Return all questions of cutting planes by feature map."""
    found: dict[Told, list[CutQuestion]] = {}
    for one in transcript:
        if one.task != CUTS.name:
            continue
        asked = one.question(CUTS)
        problems, questions = asked.problems(), asked.questions()
        site = sites.before(one)[0]
        told = {number: told_about(site, number) for number in {problem.feature_map for problem in problems}}
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
    if site.name not in one.asked.sites:
        return np.zeros((len(one.question.points) + int(one.question.leading >= 0), len(labels.y)))
    return parts_in_cuts(mapped_train(site, one.problem.feature_map), labels, one.question)


@PHASES.register("cutting_planes")
class CuttingPlanesAudit(Phase):
    """Sums of mapped rows; those by one feature map can be combined, with a linear kernel all of them."""

    tasks = (CUTS.name,)

    def factors(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Iterable[Factors]:
        """Yield the sums of one feature map after the other: all at once would not fit into memory."""
        for questions in questions_by_map(sites, transcript).values():
            cuts = sum(len(one.question.points) for one in questions)
            curvatures = sum(one.question.leading >= 0 for one in questions)
            first = questions[0]
            kernel = first.asked.heard(FEATURE_MAP.numbered(first.problem.feature_map)).kernel
            by_site = factors_by_site(sites, questions)
            yield Factors(by_site, {"cut": cuts, "curvature": curvatures}, of_rows=kernel == "linear")
