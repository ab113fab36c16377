"""Checks that every strategy must pass, for the tests of authors of strategies.

Each check is a function of a strategy's name. It trains with simulated sites on two moons beside a column of noise, at
the strategy's usual level unless it says otherwise, and raises an AssertionError that names the fault. A check of
:data:`CHECKS` takes seconds, one of :data:`LONG_CHECKS` up to a minute.

Examples
--------
In a test file for pytest, for a registered strategy:

>>> import pytest
>>> from simulations.testing import CHECKS
>>> @pytest.mark.parametrize("check", CHECKS)
... def test_my_strategy(check):
...     check("pan-svm")
"""

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from flwr.app import Message
from sklearn.datasets import make_moons

from flower_pansvm import records
from flower_pansvm.constraints import key_of, setting_fields
from flower_pansvm.errors import SettingError
from flower_pansvm.result_file import read_result
from flower_pansvm.secure_sum.registry import PROTOCOLS
from flower_pansvm.secure_sum.testing import variants
from flower_pansvm.terms import Scalar
from simulations import running
from simulations.engines.in_process import InProcessGrid, grid_of, in_process_grid
from strategies.app import run
from strategies.federation.checkpoint import sums_in
from strategies.registry import STRATEGIES
from strategies.settings import Settings, settings_from

Result = Mapping[str, Any]
"""The content of ``result.json``."""

SITES = 4
DROPPED = "site-001"
QUICK: dict[str, Scalar] = {
    "landmarks": "20",
    "tol": 0.1,
    "cv-folds": 2,
    "step": "0.5",
    "epsilon": 20.0,
    "C-total": 30.0,
    "frequencies": 25,
}
"""Settings that keep a run short; each strategy gets those that it has."""

LEARNED = 0.85
"""Least accuracy on the two moons, of which 60 rows are test rows."""

LEAST_ACCURACY: dict[str, float] = {"random-kernel": 0.75}
"""Lower least accuracies. With three columns a random matrix has two rows at most; the median of 30 draws was 0.83."""

QUICK_OF: dict[str, dict[str, Scalar]] = {
    "random-kernel": {"C-random-kernel": 100.0},
    "svm-admm": {"search": "published"},
    "private-svm": {"gamma": "11"},
    "hybrid-svm": {"gamma": "11"},
}
"""Further settings of single strategies, which make them learn the two moons in seconds."""

SAME = ("model_sha256", "accuracy", "auc", "round_trips", "disclosed")
"""Entries of the result that two runs of the same training share."""


def check_learns(strategy: str) -> None:
    """Check the accuracy at every level: `LEARNED`, or `LEAST_ACCURACY`."""
    for level in levels(strategy):
        result = _trained(strategy, level)
        assert result["level"] == level, f"the run was at level {result['level']}, not {level}"
        accuracy, least = _accuracy(result), LEAST_ACCURACY.get(strategy, LEARNED)
        assert accuracy >= least, f"accuracy {accuracy} on the two moons at level {level}"


def _accuracy(result: Result) -> float:
    """Return the accuracy; AssertionError if the model was not tried."""
    assert result["accuracy"] is not None, "no accuracy is known: end fit with Outcome(model, evaluation)"
    return float(result["accuracy"])


def check_same_without_masks(strategy: str) -> None:
    """Check that another run, with unmasked sums, gives the same model."""
    with _folder() as folder:
        again = _train(_settings(strategy, folder, {"aggregation": "plain"}))
    _same(_trained(strategy), again, "in another run with plain", SAME[:3])


def check_resumes(strategy: str) -> None:
    """Check that a run killed half way, or after its first sum if that is later, resumes to the same model."""
    whole = _trained(strategy)
    for stop in range(max(2, whole["round_trips"] // 2), whole["round_trips"]):
        with _folder() as folder:
            settings = _settings(strategy, folder)
            stopping = grid_of(_StoppingGrid, settings)
            stopping.left = stop
            with contextlib.suppress(_Stopped):
                run(stopping, settings, Path(settings.out))
            assert stopping.left < 0, f"the run was over before its round trip {stop}"
            # Before its first sum there is no checkpoint.
            if sums_in(Path(settings.out)):
                again = _train(running.resumed(Path(settings.out)))
                _same(whole, again, f"when resumed at round trip {stop}", SAME[:3])
                return


def check_survives_a_lost_site(strategy: str) -> None:
    """Check that training continues when a site drops out half way, and that the result names the site."""
    with _folder() as folder:
        settings = _settings(strategy, folder, {"timeout": 0.05})
        losing = grid_of(_LosingGrid, settings)
        losing.left = _trained(strategy)["round_trips"] // 2
        result = _train(settings, losing)
    assert result["dropped_sites"] == [DROPPED], f"dropped_sites is {result['dropped_sites']}, not {DROPPED}"
    assert result["sites"] == SITES - 1, "the dropped site is counted"
    least = LEAST_ACCURACY.get(strategy, LEARNED) - 0.1
    assert _accuracy(result) >= least, f"accuracy {result['accuracy']} after a site dropped out"


def check_refuses_bad_settings(strategy: str) -> None:
    """Check that misspelt names and invalid values are refused with an error that names them."""
    refused: list[tuple[dict[str, Scalar], str]] = [
        ({"strategy": f"{strategy}x"}, f"'{strategy}'"),
        ({"strategy": strategy, "min-site": 3}, "min-sites"),
        ({"strategy": strategy, "sites": 1}, "sites"),
        ({"strategy": strategy, "test-fraction": 1.5}, "test-fraction"),
        ({"strategy": strategy, "seed": "many"}, "seed"),
    ]
    for config, expected in refused:
        text = ""
        try:
            settings_from(config)
        except SettingError as error:
            text = str(error)
        assert expected in text, (
            f"{config} must be refused with a SettingError that contains {expected}: {text!r}"
        )


def check_declares_what_leaves(strategy: str) -> None:
    """Check that the result lists all values that sites have sent, in sums or disclosed."""
    result, replies = _whole_run(strategy, levels(strategy)[0])
    sent: dict[tuple[str, str], set[str]] = {}
    for reply in replies:
        task = reply.metadata.message_type.split(".")[1]
        shapes = records.get(reply.content, "shapes")
        # An empty array was not requested by this message.
        sent.setdefault((task, "summed"), set()).update(
            name for name, sides in shapes.items() if np.prod(np.asarray(sides))
        )
        sent.setdefault((task, "disclosed"), set()).update(records.get(reply.content, "disclosed"))
    for (task, how), names in sent.items():
        named = {
            entry["result"]
            for entry in result["disclosed"]
            if entry["task"] == task
            and entry["how"] == ("disclosed" if how == "disclosed" else result["level"])
        }
        assert names == named, f"the task {task} sent {names}, and the result says {how} {named}"


def check_same_with_every_protocol(strategy: str) -> None:
    """Check that every registered secure sum, with its first combination of options, gives the same model.

    The protocols take the strategy's levels in turn; those of many steps are left to
    :mod:`flower_pansvm.secure_sum.testing`.
    """
    one_trip = [name for name in PROTOCOLS if not name.endswith("-hops")]
    # Another level begins for the next strategy, so that each pair is tried by some.
    in_turn = islice(cycle(levels(strategy)), list(STRATEGIES).index(strategy), None)
    for level, name in zip(in_turn, one_trip, strict=False):
        protocol = variants(PROTOCOLS[name])[0]
        if level == "dp" and protocol.survives:
            continue  # its sums are opened without some sites, and have more noise for that
        fields = setting_fields(type(protocol))
        options = {key: getattr(protocol, option.name) for key, option in fields.items()}
        config = {**{"privacy": level}, **options, "aggregation": name}
        with _folder() as folder:
            result = _train(_settings(strategy, folder, config))
        _same(_trained(strategy, level), result, f"with {protocol} at level {level}", SAME[:3])


def check_same_on_both_engines(strategy: str) -> None:
    """Check that Flower's simulation engine gives the same model as this process."""
    with _folder() as folder:
        settings, log = _settings(strategy, folder), list[str]()
        running.run(settings, "simulation", log.append)
        _same(_trained(strategy), read_result(Path(settings.out)), "on Flower's engine", SAME)


CHECKS: tuple[Callable[[str], None], ...] = (
    check_learns,
    check_same_without_masks,
    check_resumes,
    check_survives_a_lost_site,
    check_refuses_bad_settings,
    check_declares_what_leaves,
)
"""The checks that take seconds."""

LONG_CHECKS: tuple[Callable[[str], None], ...] = (check_same_with_every_protocol, check_same_on_both_engines)
"""The checks that take longer."""


class _Stopped(Exception):  # noqa: N818 - the end of the coordinator, not an error
    """The coordinator's process is killed."""


class _StoppingGrid(InProcessGrid):
    """A grid whose coordinator is killed after ``left`` round trips."""

    left = 0

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        self.left -= 1
        if self.left < 0:
            raise _Stopped
        return super().push_messages(messages)


class _LosingGrid(InProcessGrid):
    """A grid whose second site drops out after ``left`` round trips."""

    left = 0

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        self.left -= 1
        if self.left >= 0:
            return super().push_messages(messages)
        dropped = list(self.get_node_ids())[1]
        requests = list(messages)
        ids = iter(
            super().push_messages(message for message in requests if message.metadata.dst_node_id != dropped)
        )
        return ["dropped" if message.metadata.dst_node_id == dropped else next(ids) for message in requests]


def levels(strategy: str) -> list[str]:
    """Return the levels of a strategy, its usual one first."""
    usual = settings_from({"strategy": strategy}).level
    if usual == "dp":
        return [usual]
    try:
        settings_from({"strategy": strategy, "privacy": "dp"})
    except SettingError:
        return ["perturbed", "exact"]
    return ["perturbed", "exact", "dp"]


@lru_cache(maxsize=32)
def _whole_run(strategy: str, level: str) -> tuple[Result, list[Message]]:
    """Return the result of an undisturbed run and all replies of its sites."""
    with _folder() as folder:
        settings = _settings(strategy, folder, {"privacy": level})
        grid = in_process_grid(settings)
        return _train(settings, grid), grid.replies


def _trained(strategy: str, level: str = "") -> Result:
    return _whole_run(strategy, level or levels(strategy)[0])[0]


def _train(settings: Settings, grid: InProcessGrid | None = None) -> Result:
    run(grid or in_process_grid(settings), settings, Path(settings.out))
    return read_result(Path(settings.out))


def _settings(strategy: str, folder: str, config: Mapping[str, Scalar] | None = None) -> Settings:
    """Write the two moons into a folder, and return the settings of a short run on them."""
    data = Path(folder) / "moons.csv"
    X, y = make_moons(300, noise=0.1, random_state=0)
    noise = np.random.default_rng(0).normal(size=len(X))
    pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "noise": noise, "label": y}).to_csv(data, index=False)
    keys = map(key_of, setting_fields(STRATEGIES[strategy].settings_class))
    quick = {key: QUICK[key] for key in keys if key in QUICK} | QUICK_OF.get(strategy, {})
    common: dict[str, Scalar] = {"data": str(data), "sites": SITES, "out": str(Path(folder) / "out")}
    return settings_from({**common, "strategy": strategy, **quick, **(config or {})})


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="pansvm-check-")


def _same(expected: Result, actual: Result, where: str, names: Iterable[str]) -> None:
    for name in names:
        assert actual.get(name) == expected.get(name), (
            f"{name} is {actual.get(name)} {where}, and {expected.get(name)} otherwise"
        )
