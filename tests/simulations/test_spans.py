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
from flower_pansvm.cutting_planes.cuts import Answer, Question
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.tasks.cutting_planes import CUTS, CutsAnswer
from simulations.attack.equations import Equations
from simulations.attack.findings import found
from simulations.attack.knowledge import knowledge_of
from simulations.attack.spaces_of_cuts import search_spaces
from simulations.audit.sites import SimulatedSites
from simulations.engines.running import in_process_grid
from strategies.app import run
from strategies.federation.checkpoint import Checkpoint
from strategies.federation.transcript import read_transcript
from strategies.master.curvature import curvature_matrix
from strategies.settings import Settings, make_settings
from strategies.steps.packing import unpack_answers

Matrix = NDArray[np.float64]
FOUND = 0.01
"""Largest distance in any feature, in standard deviations, of a row that counts as found."""


class Received:
    """A run: what the coordinator has received, what it knows, and the truth to compare with."""

    def __init__(self, settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        sums: list[dict[str, Matrix]] = []
        write = Checkpoint.write

        def note(checkpoint: Checkpoint, task: str, sites: tuple[str, ...], found: dict[str, Matrix]) -> None:
            if task == CUTS.name:
                sums.append(found)
            write(checkpoint, task, sites, found)

        monkeypatch.setattr(Checkpoint, "write", note)
        self.model = run(in_process_grid(settings), settings, folder).model
        asked = [one for one in read_transcript(folder) if one.task == CUTS.name]
        self.answers: list[tuple[Question, Answer]] = []
        for one, summed in zip(asked, sums, strict=True):
            (question,) = one.question(CUTS).questions()
            self.answers.append((question, unpack_answers(CutsAnswer(**summed), [question])[0]))
        sites = SimulatedSites(settings).before(asked[-1])
        self.rows = np.vstack([site.scaled(site.train().X) for site in sites])

    @property
    def feature_map(self) -> NystromMap:
        return self.model.feature_map_


def rows_in_the_space(directions: Matrix, received: Received, starts: int) -> set[int]:
    """Search for rows whose mapped rows have no part along the given directions; return those of the table found."""
    near = set()
    for start in received.feature_map.landmarks[:starts]:
        search = least_squares(
            lambda x: directions @ np.append(received.feature_map.transform(x[None])[0], 1.0),
            start,
            max_nfev=60,
        )
        distances = np.abs(received.rows - search.x).max(axis=1)
        if distances.min() < FOUND:
            near.add(int(distances.argmin()))
    return near


@pytest.mark.parametrize("everywhere", [0.0, cuts.EVERYWHERE])
@pytest.mark.slow
def test_rows_next_to_the_margin_are_not_found_in_a_curvature(
    everywhere: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuts, "EVERYWHERE", everywhere)
    received = Received(make_settings(preset="exact", audit=True), tmp_path, monkeypatch)
    question, answer = received.answers[-1]
    values, vectors = np.linalg.eigh(
        curvature_matrix(answer.curvature, received.feature_map.rank, question.leading)
    )
    none = values < 1e-6 * values.max()
    if everywhere == 0:
        assert len(rows_in_the_space(vectors[:, none].T, received, 30)) > 5
    else:
        assert not none.any()
        # As close to it as can be: all but the largest part, and all directions by how little there is along them.
        assert not rows_in_the_space(vectors[:, : len(values) // 2].T, received, 30)
        assert not rows_in_the_space((vectors / np.sqrt(values)).T, received, 30)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "name"),
    [("exact", "heart"), *(("private", one) for one in ("heart", "liver-disorders", "ionosphere"))],
)
def test_cuts_that_lie_close_together_span_a_few_rows_which_noise_hides(
    preset: str, name: str, shared_data: Path, tmp_path: Path
) -> None:
    settings = make_settings(data=name, data_dir=str(shared_data), preset=preset, audit=True)
    run(in_process_grid(settings), settings, tmp_path)
    record = read_transcript(tmp_path)
    knowledge = knowledge_of(settings, record)
    rows = search_spaces(knowledge, Equations(knowledge, settings.sites), 60.0, lambda *_: None)
    truth = np.vstack([site.scaled(site.train().X) for site in SimulatedSites(settings).before(record[-1])])
    of_them = found(truth, rows, truth.std(axis=0))
    if preset == "exact":
        assert of_them.exact >= 10
        assert of_them.exact >= len(rows) / 2
    else:
        assert len(rows) > 100
        assert of_them.within_1 == 0
