"""What a curious coordinator can find out from what it received in a run: ``pansvm run --audit`` (DESIGN, section 5).

A cut is a sum Σ c y f over the mapped rows f of all sites, a curvature Σ v f f^T; its last line, which belongs to the
bias, is Σ v f. The coordinator does not know c and v, but it can subtract sums from one another, and where all rows but
one fall out, that row is left. To find out whether that has happened takes the truth, which only a simulation has:
every question of the run is put to every site again, in this process, for the factors c y and v instead of the sums.

Sums by different feature maps are about different f and cannot be combined. Those of a feature selection that are about
the rows x themselves can, whatever the map: of two subsets of the features, what they have in common is left. So can
all cuts with a linear kernel, of which f is a linear map of x. With a protocol that protects nothing the coordinator
has the sums of each site by itself.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Context, RecordDict
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from clients import broadcasts
from clients.answering import Inputs
from clients.blur import SECRET, draw_for, new_secret
from clients.landmarks import own_centres, scaled_without
from clients.pan_svm import labels_of
from clients.selection import cell_weights, support_vectors
from clients.site import Site
from flower_pansvm import messages, records
from flower_pansvm.cutting_planes.cuts import Question, RowFactors, blocks
from flower_pansvm.cutting_planes.duals import unpack_duals
from flower_pansvm.cutting_planes.packing import unpack_problems, unpack_questions
from flower_pansvm.cutting_planes.problem import Problem
from flower_pansvm.landmarks import weighted_totals
from flower_pansvm.multiclass import Pair
from flower_pansvm.secure_sum.selection import protocol_of
from flower_pansvm.settings import Settings
from simulations.isolation import isolated_by_pairs, isolated_by_quads
from strategies.asked import AskedSum, read_asked
from strategies.results import RESULT_FILE

Told = tuple[str, ...]
"""Digests of all that mapped rows depend on."""


@dataclass(frozen=True)
class Audit:
    """What was found.

    Parameters
    ----------
    smallest_cluster : int or None
        Fewest rows of one site behind a k-means centre that the coordinator has received; None if it has none.
    isolated_by_pairs, isolated_by_quads : int
        Training rows of the federation whose mapped row follows from the difference of two sums, or of two such
        differences.
    cut_sums, curvature_sums : int
        How many sums the coordinator has learned.
    looked_at_by_quads : int
        How many of all sums the search for quads has looked at: of each feature map, and of those about the rows
        themselves, at most the last 3000.
    row_sums : int
        How many sums about the rows themselves a feature selection has brought: over the support vectors, and over the
        rows of each class, side and fold. Sums of squares, which are over the same rows, are not counted again.
    """

    smallest_cluster: int | None
    isolated_by_pairs: int
    isolated_by_quads: int
    cut_sums: int
    curvature_sums: int
    looked_at_by_quads: int
    row_sums: int = 0

    def __str__(self) -> str:
        """Return the findings in one line."""
        smallest, sums = self.smallest_cluster, self.cut_sums + self.curvature_sums + self.row_sums
        cluster = "no landmark is a mean of rows" if smallest is None else f"smallest cluster {smallest} rows"
        limited = (
            "" if self.looked_at_by_quads == sums else f" among {self.looked_at_by_quads} of {sums} sums"
        )
        return (
            f"audit: {cluster}; {self.isolated_by_pairs} rows isolated by pairs of sums, "
            f"{self.isolated_by_quads} by quads{limited}"
        )


@dataclass(frozen=True)
class CutQuestion:
    """The question of one problem within a sum."""

    asked: AskedSum
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

    def before(self, asked: AskedSum) -> list[Site]:
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
        context = Context(0, number, dict(node), RecordDict(), dict(self.settings.to_config()))
        broadcasts.keep(context, told)
        site = Site(context)
        site.keep(SECRET, new_secret(context))
        return site


def audit(settings: Settings, folder: Path) -> Audit:
    """Look at everything the coordinator received in a run with simulated sites.

    Parameters
    ----------
    settings : Settings
        Settings of the run, with ``audit``.
    folder : Path
        The run's folder, with the record of what was asked.
    """
    sites, asked = SimulatedSites(settings), read_asked(folder)
    found = _Findings(protocol_of(settings).protected)
    cut_sums = curvature_sums = 0
    # One thread, as at the sites: the same numbers to the last bit.
    with threadpool_limits(limits=1):
        smallest = smallest_cluster(sites, asked)
        about_rows = [row_factors_by_site(sites, asked)]
        row_sums = len(about_rows[0][0])
        # One feature map after the other: the factors of all would not fit into memory after model choice.
        for told, questions in questions_by_map(sites, asked).items():
            by_site = factors_by_site(sites, told, questions)
            if settings.kernel == "linear":
                about_rows.append(by_site)
            else:
                found.look_at(by_site)
            cut_sums += sum(len(one.question.points) for one in questions)
            curvature_sums += sum(one.question.leading >= 0 for one in questions)
        # Those of the rows themselves last: of too many sums, the search for quads looks at the last ones.
        found.look_at([np.vstack(parts[::-1]) for parts in zip(*about_rows, strict=True)])
    pairs, quads = len(found.by_pairs), len(found.by_quads)
    return Audit(smallest, pairs, quads, cut_sums, curvature_sums, found.looked_at, row_sums)


class _Findings:
    """Rows that were found in groups of sums which can be combined with one another."""

    def __init__(self, protected: bool) -> None:
        self.protected = protected
        self.by_pairs: set[int] = set()
        self.by_quads: set[int] = set()
        self.looked_at = 0

    def look_at(self, by_site: Sequence[NDArray[np.float64]]) -> None:
        """Look for rows in one group, given the factors at each site, shape (sums, rows)."""
        first, looked_at = 0, 0
        for factors in [np.hstack(by_site)] if self.protected else by_site:
            quads, looked_at = isolated_by_quads(factors)
            self.by_pairs.update(first + isolated_by_pairs(factors))
            self.by_quads.update(first + quads)
            first += factors.shape[1]
        self.looked_at += looked_at


def add_to_result(folder: Path, found: Audit) -> None:
    """Write the findings into the ``result.json`` of a run's folder."""
    path = folder / RESULT_FILE
    result = json.loads(path.read_text(encoding="utf-8"))
    text = json.dumps({**result, "audit": asdict(found)}, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def smallest_cluster(sites: SimulatedSites, asked: Sequence[AskedSum]) -> int | None:
    """Return the fewest rows of one site behind a centre of k-means, local or federated; None if there is no centre."""
    sizes: list[int] = []
    for one in asked:
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


def questions_by_map(sites: SimulatedSites, asked: Sequence[AskedSum]) -> dict[Told, list[CutQuestion]]:
    """Return all questions of cutting planes by feature map."""
    found: dict[Told, list[CutQuestion]] = {}
    for one in asked:
        if one.task != messages.CUTS.name:
            continue
        problems, questions = unpack_problems(one.inputs), unpack_questions(one.inputs)
        site = sites.before(one)[0]
        told = {number: site.told_about(number) for number in {problem.feature_map for problem in problems}}
        for problem, question in zip(problems, questions, strict=True):
            found.setdefault(told[problem.feature_map], []).append(CutQuestion(one, problem, question))
    return found


def factors_by_site(
    sites: SimulatedSites, told: Told, questions: Sequence[CutQuestion]
) -> list[NDArray[np.float64]]:
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
            part.append(_factors(site, told, one))
    return [np.vstack(part) for part in parts]


def _factors(site: Site, told: Told, one: CutQuestion) -> NDArray[np.float64]:
    """Return one site's factors in the sums of one question, shape (sums, rows)."""
    labels, question = labels_of(site, one.problem), one.question
    rows, has_curvature = len(labels.y), question.leading >= 0
    signed, v = np.zeros((rows, len(question.points))), np.zeros((rows, int(has_curvature)))
    if site.name in one.asked.sites:
        factors = RowFactors(labels, question, draw_for(site, told, one.problem.pair, one.problem.fold))
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


def row_factors_by_site(sites: SimulatedSites, asked: Sequence[AskedSum]) -> list[NDArray[np.float64]]:
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
    for one in [one for one in asked if one.task == messages.SUPPORT.name][-1:]:
        last = unpack_problems(one.inputs)[0].feature_map
        feature = np.flatnonzero(one.told[messages.feature_map(last)]["features"])[:1]
    for one in asked:
        if one.task == messages.SUPPORT.name:
            problems = unpack_problems(one.inputs)
            sides.update({(problem.pair, problem.weights): problem for problem in problems})
            for part, site in zip(parts, sites.before(one), strict=True):
                part.append(_support_factors(site, one, problems, feature))
    for one in asked:
        if one.task == messages.CLASS_MOMENTS.name:
            for part, site in zip(parts, sites.before(one), strict=True):
                part.append(_moment_factors(site, one, list(sides.values()), sites.settings.folds))
    rows = [len(site.train().classes) for site in sites.before(asked[0])]
    return [np.vstack([np.empty((0, count)), *part]) for part, count in zip(parts, rows, strict=True)]


def _support_factors(
    site: Site, one: AskedSum, problems: Sequence[Problem], feature: NDArray[np.int64]
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
    site: Site, one: AskedSum, problems: Sequence[Problem], folds: int
) -> NDArray[np.float64]:
    """Return one site's factors in the sums by class, by side of each problem, and by fold, shape (sums, rows)."""
    by_class = site.train().classes == np.arange(len(site.schema().classes))[:, None]
    by_fold = site.folds() == np.arange(folds)[:, None]
    sides = [by_class, by_fold]
    for problem in problems:
        labels = labels_of(site, problem)
        sides += [labels.weight * (labels.y > 0), labels.weight * (labels.y < 0)]
    return np.vstack(sides) * float(site.name in one.sites)
