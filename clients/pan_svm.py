"""The local work of PAN-SVM: landmarks, warm start, cutting planes (Lu 2016, Algorithms 1 and 2)."""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from clients.answering import Inputs, answers
from clients.common import SLOTS
from clients.membership import note_from
from clients.site import Site
from clients.terms import least_rows
from flower_pansvm import messages
from flower_pansvm.cutting_planes.cuts import Cuts, cuts_at
from flower_pansvm.errors import FederationError, SettingError
from flower_pansvm.landmarks import cluster_centres
from flower_pansvm.records import Value
from flower_pansvm.secure_sum.keys import keystream

ROUNDING = 1e-9
"""Keeps a share of the rows that is a whole number from being rounded down to the next one."""

MOST_LANDMARKS = 100_000
"""More slots are refused: their matrix would only exhaust the site's memory, as a kernel matrix of that size does."""

WARM_START_ITERATIONS = 1000
"""Passes of the local solver over its rows; more would only polish a first guess."""


@answers(messages.LANDMARKS)
def landmarks(site: Site, inputs: Inputs) -> dict[str, Value]:
    """Write the site's k-means centres into its own slots of a zero matrix (Algorithm 1, line 1)."""
    X = site.scaled(site.train())
    slots, total = _own_slots(site, inputs["slots_per_site"])
    clusters = min(len(slots), max(1, int(inputs["share"] * len(X) + ROUNDING)))
    centres, _ = cluster_centres(
        X, clusters, _agreed_min_cluster(site, inputs["min_cluster"]), inputs["seed"]
    )
    matrix, filled = np.zeros((total, X.shape[1])), np.zeros(total)
    used = slots[: len(centres)]
    matrix[used], filled[used] = centres, 1.0
    return {"centres": matrix, "filled": filled}


@answers(messages.WARM_START)
def warm_start(site: Site, inputs: Inputs) -> dict[str, Value]:
    """Fit a linear SVM on the site's own mapped rows, and weight it by their number.

    C is raised so that the weight of regularisation against loss is that of the whole federation.
    """
    F, classes = site.mapped_train(), site.train().classes
    positive_classes = inputs["positive_classes"]
    bound = inputs["bound"]
    weights = np.zeros((len(positive_classes), F.shape[1] + 1))
    rows = np.zeros(len(positive_classes))
    for problem, positive in enumerate(positive_classes):
        y = np.where(classes == positive, 1.0, -1.0)
        if len(np.unique(y)) == 2:
            local_C = inputs["C"] * inputs["rows"] / len(y)
            weights[problem] = np.clip(_local_svm(F, y, local_C), -bound, bound) * len(y)
            rows[problem] = len(y)
    return {"weights": weights, "rows": rows}


@answers(messages.CUTS)
def cuts(site: Site, inputs: Inputs) -> dict[str, Value]:
    """Sum a, d, m and the hinge loss over the site's rows at every point (Algorithm 2, lines 4-8)."""
    F, classes = site.mapped_train(), site.train().classes
    points, positive = inputs["points"], inputs["positive"]
    count, rank = len(points), F.shape[1]
    sums = Cuts(np.empty((count, rank)), np.empty(count), np.empty(count), np.empty(count))
    for wanted in np.unique(positive):
        chosen = positive == wanted
        part = cuts_at(F, np.where(classes == wanted, 1.0, -1.0), points[chosen])
        sums.a[chosen], sums.d[chosen], sums.m[chosen], sums.loss[chosen] = part.a, part.d, part.m, part.loss
    return {"a": sums.a, "d": sums.d, "m": sums.m, "loss": sums.loss}


def _agreed_min_cluster(site: Site, asked: int) -> int:
    least = least_rows(site.context)
    if asked < least:
        raise SettingError(
            f"Site '{site.name}' refuses min-cluster={asked}: a landmark could be the mean of fewer than {least} "
            f"patients. Start the run with min-cluster={least}, or lower it in the site's node config if the hospital "
            "agrees."
        )
    return asked


def _local_svm(F: NDArray[np.float64], y: NDArray[np.float64], C: float) -> NDArray[np.float64]:
    solver = LinearSVC(C=C, loss="hinge", dual=True, max_iter=WARM_START_ITERATIONS, random_state=0)
    with warnings.catch_warnings():
        # It need not converge: any point is a valid start.
        warnings.simplefilter("ignore", ConvergenceWarning)
        solver.fit(F, y)
    return np.append(solver.coef_[0], solver.intercept_[0])


def _own_slots(site: Site, slots_per_site: int) -> tuple[NDArray[np.int64], int]:
    """Return the rows of the landmark matrix that are this site's, and how many rows it has.

    All sites deal out the rows by the same secret seed, so that none is taken twice and the coordinator cannot
    tell whose a row is.
    """
    participation = site.participation
    if participation is None:
        raise FederationError("Landmarks were asked for outside a secure sum. Start the run again.")
    total = slots_per_site * len(participation.this.roster)
    if not 1 <= total <= MOST_LANDMARKS:
        raise SettingError(
            f"Site '{site.name}' was asked to fill {slots_per_site} landmark slots, and takes at most "
            f"{MOST_LANDMARKS} over all sites. Ask for fewer landmarks."
        )
    for sender, note in site.inbox.items():
        site.keep(SLOTS, note_from(participation, sender, SLOTS, note))
    order = np.argsort(keystream(site.kept(SLOTS), total), kind="stable")
    place = participation.this.roster.index(site.name)
    return order[place * slots_per_site : (place + 1) * slots_per_site], total
