"""The attack of ``pansvm run --audit=attack``: everything that is tried on a run, and what came of it.

The attacker has only what the coordinator has. The truth, which a simulation has, is used to count what was found, and
where it says so to begin at it: that is an upper limit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from flower_pansvm.errors import SettingError
from flower_pansvm.multiclass import signs
from flower_pansvm.tasks.consensus import CONSENSUS
from flower_pansvm.terms import Terms
from simulations.attack.differences import solve_differences
from simulations.attack.differences_of_models import DifferencesOfModels, sums_of_rows
from simulations.attack.equations import Equations
from simulations.attack.findings import Found, found, landmark_baseline, random_baseline
from simulations.attack.fit import fit, start_from_landmarks, with_factors
from simulations.attack.guess import Guess
from simulations.attack.knowledge import (
    Floats,
    Knowledge,
    feature_map_of,
    knowledge_of,
    numbers_received,
    scaled_moments,
    spread_about,
)
from simulations.attack.linearised import determined
from simulations.attack.spaces_of_cuts import search_spaces
from simulations.audit.sites import SimulatedSites
from simulations.data.pooling import pooled
from strategies.federation.transcript import TranscriptSum, read_transcript
from strategies.nystroem_settings import NystroemSettings
from strategies.settings import Settings

SHARES = {
    "spaces": 0.1,
    "curvature": 0.4,
    "jointly": 0.15,
    "differences": 0.2,
    "curvature from the truth": 0.08,
    "jointly from the truth": 0.07,
}
"""How the time is dealt out. Where the sites have told no curvature, its shares go to fitting all sums jointly."""

PROGRESS_SECONDS = 30.0


@dataclass(frozen=True)
class Attack:
    """What an attack has found.

    Parameters
    ----------
    rows, unknown : int
        Training rows, and their cells.
    numbers : dict of str to int
        How many numbers each kind of sum has brought.
    baselines, attempts : dict of str to Found
        Rows found without an attack, and by each way of attacking.
    determined_1, determined_10 : int or None
        Rows that the sums determine to 1 and to 10 percent, made linear at the truth; None for sums of models.
    test_rows : int
        Rows that had no part in the training.
    by_chance : dict of str to Found
        How many of these the attempts have found, which can only be by chance: where as large a share of them is found
        as of the training rows, an attempt knows where rows are many, and no single one.
    """

    rows: int
    unknown: int
    numbers: dict[str, int]
    baselines: dict[str, Found]
    attempts: dict[str, Found]
    determined_1: int | None
    determined_10: int | None
    test_rows: int
    by_chance: dict[str, Found]

    def __str__(self) -> str:
        """Return the findings, a line each."""
        lines = [f"attack on {self.rows} training rows, {self.unknown} unknown cells:"]
        lines += [f"  without an attack, {name}: {one}" for name, one in self.baselines.items()]
        for name, one in self.attempts.items():
            chance = f"; of {self.test_rows} test rows: {self.by_chance[name]}" if self.test_rows else ""
            lines.append(f"  {name}: {one}{chance}")
        if self.determined_1 is not None:
            lines.append(
                f"  made linear at the truth: {self.determined_1} rows determined to 1 %, {self.determined_10} to 10 %"
            )
        lines += [
            f"  {name}: {count} numbers, {count / self.unknown:.2f} for each unknown cell"
            for name, count in self.numbers.items()
        ]
        return "\n".join(lines)


def attack(settings: Settings, folder: Path, minutes: float, show: Callable[[str], None]) -> Attack:
    """Attack a run with simulated sites.

    Parameters
    ----------
    settings : Settings
        Settings of the run, with ``audit``.
    folder : Path
        The run's folder, with the record of what was asked and what came back.
    minutes : float
        Time to take, besides that for the upper limit made linear.
    show : callable
        Receives lines of progress.

    Raises
    ------
    SettingError
        If the run is none that the attacker knows how to read.
    """
    if not isinstance(settings, NystroemSettings) or settings.kernel != "rbf":
        raise SettingError(
            "The attacker fits rows to sums over a Nyström map with the rbf kernel only. Leave the setting kernel out, "
            "or choose a strategy with such a map; of random-kernel --audit alone says which rows can be computed."
        )
    record = read_transcript(folder)
    of_models = any(one.task == CONSENSUS.name for one in record)
    knowledge = None if of_models else knowledge_of(settings, record)
    # BLAS threads on a busy machine wait for each other.
    with threadpool_limits(limits=1):
        pool = pooled(settings)
        # Every site has been told the same scaling.
        site = SimulatedSites(settings).before(record[-1])[0]
        truth, test = site.scaled(pool.train.X), site.scaled(pool.test.X)
        attacker = _Attacker(truth, test, numbers_received(record), 60.0 * minutes, show)
        if knowledge is None:
            return attacker.on_models(record, settings.terms)
        return attacker.on_cuts(knowledge, signs(pool.train.classes, knowledge.pair))


class _Attacker:
    def __init__(
        self,
        truth: Floats,
        test: Floats,
        numbers: dict[str, int],
        seconds: float,
        show: Callable[[str], None],
    ) -> None:
        self.truth, self.test, self.numbers = truth, test, numbers
        self.seconds, self.show = seconds, show
        self.spread = truth.std(axis=0)
        self.shown = 0.0

    def on_models(self, record: Sequence[TranscriptSum], terms: Terms) -> Attack:
        """Look for rows in the differences of models, of one problem after the other."""
        asked = [one for one in record if one.task == CONSENSUS.name]
        feature_map = feature_map_of(asked[-1], 0)
        _, square = scaled_moments(record, asked[-1])
        landmarks = feature_map.landmarks
        spread = spread_about(landmarks, len(self.truth), square)
        sums, units = sums_of_rows(record, terms)
        rows = np.empty((0, landmarks.shape[1]))
        for one, own in zip(sums, units.T, strict=True):
            differences = DifferencesOfModels(feature_map, one, own, spread, rows)
            rows = differences.solve(
                self.seconds / len(sums), lambda t, X: self._report("differences of models", t, X)
            )
        baselines = self._baselines(landmarks, spread, len(rows))
        return self._findings(baselines, {"differences of models": rows}, (None, None))

    def on_cuts(self, knowledge: Knowledge, y: Floats) -> Attack:
        """Try everything on cuts and curvatures, and count."""
        equations = Equations(knowledge)
        guesses: dict[str, Floats] = {}
        guesses["spaces of cuts"] = search_spaces(
            knowledge,
            equations,
            SHARES["spaces"] * self.seconds,
            lambda t, X: self._report("spaces", t, X),
        )
        guess = start_from_landmarks(knowledge, equations, seed=0)
        for name, joint in _ways(equations, ""):
            guess = self._fit(equations, name, guess, joint)
            guesses[f"fitted, {name}"] = guess.X
        rows = solve_differences(
            knowledge,
            equations,
            SHARES["differences"] * self.seconds,
            lambda t, X: self._report("differences", t, X),
        )
        guesses["differences of cuts"] = rows
        nearest = np.square(self.truth[:, None] - knowledge.landmarks[None]).sum(axis=2).argmin(axis=1)
        start = with_factors(equations, Guess(self.truth.copy(), y, nearest))
        for name, joint in _ways(equations, " from the truth"):
            guesses[f"upper limit, fitted, {name}"] = self._fit(equations, name, start, joint).X
        return self._findings(
            self._baselines(knowledge.landmarks, equations.spread, len(rows)),
            guesses,
            determined(knowledge, self.truth, y),
        )

    def _baselines(self, landmarks: Floats, width: float, guesses: int) -> dict[str, Found]:
        """Return how many rows are found without an attack."""
        return {
            "landmarks": landmark_baseline(self.truth, landmarks, self.spread),
            "random guesses around them": random_baseline(self.truth, landmarks, self.spread, width),
            # They may be more guesses than rows; then some are right by chance.
            f"{guesses} random guesses, as many as differences give": random_baseline(
                self.truth, landmarks, self.spread, width, guesses
            ),
        }

    def _findings(
        self,
        baselines: dict[str, Found],
        guesses: dict[str, Floats],
        determined_to: tuple[int | None, int | None],
    ) -> Attack:
        within_1, within_10 = determined_to
        return Attack(
            len(self.truth),
            self.truth.size,
            self.numbers,
            baselines,
            {name: self._count(X) for name, X in guesses.items()},
            within_1,
            within_10,
            len(self.test),
            {name: found(self.test, X, self.spread) for name, X in guesses.items()},
        )

    def _fit(self, equations: Equations, name: str, guess: Guess, joint: bool) -> Guess:
        self.shown = 0.0
        share = SHARES[name]
        if not equations.curvatures:
            share += SHARES[name.replace("jointly", "curvature")]
        seconds = share * self.seconds
        return fit(equations, guess, seconds, lambda t, _, X: self._report(name, t, X), joint=joint)

    def _report(self, name: str, seconds: float, X: Floats) -> None:
        if seconds - self.shown >= PROGRESS_SECONDS:
            self.shown = seconds
            self.show(f"attack, {name}, {seconds:.0f} s: {self._count(X)}")

    def _count(self, X: Floats) -> Found:
        return found(self.truth, X, self.spread)


def _ways(equations: Equations, start: str) -> list[tuple[str, bool]]:
    """Return the fits by name, and whether they are to cuts, too; to curvatures alone only where there are any."""
    jointly = [(f"jointly{start}", True)]
    return [(f"curvature{start}", False), *jointly] if equations.curvatures else jointly
