"""A coordinator that searches for rows in the space that the mapped rows behind a few sums span.

It knows the feature map. Of any row it tries it can tell whether the mapped row lies in a space that a sum has told it,
and a search for one that does leads to the rows the sum is about.
"""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import least_squares

from flower_pansvm.cutting_planes import cuts
from flower_pansvm.nystroem import NystromMap
from simulations.attack.equations import Equations
from simulations.attack.findings import found
from simulations.attack.knowledge import Knowledge, knowledge_of
from simulations.attack.spaces_of_cuts import search_spaces
from simulations.audit.sites import SimulatedSites
from simulations.data.pooling import pooled
from simulations.engines.running import in_process_grid
from strategies.app import run
from strategies.federation.transcript import read_transcript
from strategies.settings import Settings, make_settings

Matrix = NDArray[np.float64]
FOUND = 0.01
"""Largest distance in any feature, in standard deviations, of a row that counts as found."""


def after_a_run(settings: Settings, folder: Path) -> tuple[Knowledge, Matrix]:
    """Return what the coordinator knows after a run, and the rows."""
    run(in_process_grid(settings), settings, folder)
    record = read_transcript(folder)
    sites = SimulatedSites(settings).before(record[-1])
    return knowledge_of(settings, record), np.vstack([site.scaled(site.train().X) for site in sites])


def rows_in_the_space(directions: Matrix, feature_map: NystromMap, rows: Matrix) -> set[int]:
    """Search for rows whose mapped rows have no part along the given directions; return those of the table found."""
    near = set()
    for start in feature_map.landmarks[:30]:
        search = least_squares(
            lambda x: directions @ np.append(feature_map.transform(x[None])[0], 1.0),
            start,
            max_nfev=60,
        )
        distances = np.abs(rows - search.x).max(axis=1)
        if distances.min() < FOUND:
            near.add(int(distances.argmin()))
    return near


@pytest.mark.parametrize("everywhere", [0.0, cuts.EVERYWHERE])
@pytest.mark.slow
def test_rows_next_to_the_margin_are_not_found_in_a_curvature(
    everywhere: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuts, "EVERYWHERE", everywhere)
    knowledge, rows = after_a_run(make_settings(privacy="exact", tol=1e-3, audit=True), tmp_path)
    values, vectors = np.linalg.eigh(knowledge.curvatures[-1][1])
    none = values < 1e-6 * values.max()
    if everywhere == 0:
        assert len(rows_in_the_space(vectors[:, none].T, knowledge.feature_map, rows)) > 5
    else:
        assert not none.any()
        # As close to it as can be: all but the largest part, and all directions by how little there is along them.
        assert not rows_in_the_space(vectors[:, : len(values) // 2].T, knowledge.feature_map, rows)
        assert not rows_in_the_space((vectors / np.sqrt(values)).T, knowledge.feature_map, rows)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["exact", "perturbed"])
def test_cuts_that_lie_close_together_span_a_few_rows_which_are_copies_at_level_perturbed(
    level: str, shared_data: Path, tmp_path: Path
) -> None:
    settings = make_settings(data="heart", data_dir=str(shared_data), privacy=level, tol=1e-3, audit=True)
    knowledge, seen = after_a_run(settings, tmp_path)
    rows = search_spaces(knowledge, Equations(knowledge, settings.sites), 60.0, lambda *_: None)
    of_them = found(seen, rows, seen.std(axis=0))
    assert of_them.exact >= 10
    assert of_them.exact >= len(rows) / 2
    if level == "perturbed":
        site, truth = (
            SimulatedSites(settings).before(read_transcript(tmp_path)[-1])[0],
            pooled(settings).train.X,
        )
        assert found(site.scaled(truth), rows, seen.std(axis=0)).within_1 == 0
