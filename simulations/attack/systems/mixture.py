"""Mixtures: disclosed means and covariances, their fewest rows, and the distances of means from rows."""

from collections.abc import Sequence

import numpy as np
from sklearn.neighbors import NearestNeighbors

from clients.systems.mixture import weak_models
from clients.systems.scaling import scaled
from flower_pansvm.systems.mixture.tasks import MIXTURE_SCORES, ClassModels
from simulations.attack.systems.system import Figures
from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum
from strategies.mixture import MixtureSettings

NEAR = 0.1
"""A row is at a mean within this share of its distance from the nearest other row of its site."""


def figures(sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:
    """Return the number of components, the rows of the smallest, and the number of rows at a mean."""
    entries = [entry for entry in transcript if entry.task == MIXTURE_SCORES.name]
    settings = sites.settings
    if not entries or not isinstance(settings, MixtureSettings):
        return {}
    components, rows, at_mean = 0, [], 0
    for site in sites.before(entries[-1]):
        if site.name not in entries[-1].sites:
            continue
        X = scaled(site, site.train().X)
        shared = weak_models(site, settings.question(X.shape[1]))
        assert isinstance(shared, ClassModels)
        components += len(shared.weights)
        rows += (shared.weights * np.repeat(shared.rows, shared.components)).tolist()
        if len(shared.means):
            apart, _ = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(X)
            to_mean, _ = NearestNeighbors(n_neighbors=1).fit(shared.means).kneighbors(X)
            at_mean += int(np.count_nonzero(to_mean[:, 0] < NEAR * apart[:, 1]))
    return {
        "components_disclosed": components or None,
        "fewest_rows_of_a_component": round(min(rows)) if rows else None,
        "rows_at_a_mean": at_mean or None,
    }
