"""A strategy in another Flower app: its settings from that app's run config, and its result as Flower's `Result`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flwr.app import Array, ArrayRecord, Context, MetricRecord
from flwr.serverapp.strategy import Result

from flower_pansvm.constraints import key_of, setting_fields
from flower_pansvm.errors import SettingError
from flower_pansvm.models.model import Model
from flower_pansvm.secure_sum.registry import PROTOCOLS
from flower_pansvm.terms import Scalar, Terms
from strategies.federation.exchange import Costs
from strategies.registry import usable
from strategies.settings import Settings, given_by, options_class, settings_from

OnRound = Callable[[int, Mapping[str, Any]], None]

NO_EFFECT = ("audit", "data", "data-dir", "drop", "out", "resume", "split")
"""Settings of ``pansvm run``, for its tables and its folder."""


PREFIX = "pansvm."
"""How the run config of somebody else's app names this plugin's settings: ``[tool.flwr.app.config.pansvm]``."""


@dataclass(repr=False)
class TrainingResult(Result):
    """Flower's result, shown as Flower shows it, and the model.

    ``train_metrics_clientapp`` has an entry for each round trip: bytes up and down, seconds, and in training the bounds
    of the objective.
    """

    model: Model | None = None


def own_keys(config: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the settings that the run config of somebody else's app has for this plugin, without their prefix."""
    return {key.removeprefix(PREFIX): value for key, value in config.items() if key.startswith(PREFIX)}


def settings_of_app(context: Context, strategy: str, given: Mapping[str, Any]) -> Settings:
    """Return a strategy's settings: the keys under ``pansvm.`` of an app's run config, and those given in code.

    Parameters
    ----------
    context : Context
        The ServerApp's context.
    given : mapping
        Settings by their names in Python; they override the run config's.

    Raises
    ------
    SettingError
        If a setting is unknown or cannot work, has no effect in an app, names another strategy, or is given in code
        though the sites read it, too: they know the run config only.
    """
    config = own_keys(context.run_config)
    in_code = {key_of(name): value for name, value in given.items()}
    written = {**config, **in_code}.get("strategy", strategy)
    if written != strategy:
        raise SettingError(
            f"The ServerApp starts the class of {strategy}, and the run config has {PREFIX}strategy = '{written}'. "
            f"Remove {PREFIX}strategy, or start the class of {written}."
        )
    for key in NO_EFFECT:
        if key in config or key in in_code:
            raise SettingError(
                f"{PREFIX}{key} has no effect in an app of your own: its function returns the sites' rows, and its "
                "ServerApp keeps the result. Leave it out."
            )
    read_by_sites = {
        "label",
        "schema",
        *setting_fields(Terms),
        *(key for name in usable(PROTOCOLS) for key in setting_fields(options_class(name))),
    }
    for key in sorted(in_code.keys() & read_by_sites):
        if config.get(key) != in_code[key]:
            raise SettingError(
                f"The sites read '{key}' from the run config. Write it there: "
                f"[tool.flwr.app.config.{PREFIX.rstrip('.')}] {key} = {in_code[key]!r}."
            )
    # The sites compute digests of the run config, with which the coordinator's must agree.
    return given_by(config, settings_from({"strategy": strategy, **config, **in_code}))


def refuse_ignored(**parameters: Any) -> None:
    """Raise a SettingError for a given parameter of Flower's ``start`` without an effect here."""
    instead = {
        "initial_arrays": "The phases need no initial arrays.",
        "num_rounds": "Training ends when its bounds are within 'tol' of each other.",
        "timeout": "Set 'timeout' in the settings.",
        "train_config": "Give settings to from_context, or write them into the run config.",
        "evaluate_config": "Give settings to from_context, or write them into the run config.",
    }
    for name, value in parameters.items():
        if value is not None:
            raise SettingError(f"{name} has no effect on this strategy. {instead[name]} Leave it out.")


def showing_rounds(costs: Costs, on_round: OnRound | None) -> Callable[[int], None]:
    """Return a function that calls ``on_round`` once for each round trip below a number."""
    shown = 0

    def show(end: int) -> None:
        nonlocal shown
        for round_trip in range(shown + 1, end):
            if on_round is not None:
                on_round(round_trip, dict(costs.rounds.get(round_trip, {})))
        shown = max(shown, end - 1)

    return show


def result_of(model: Model | None, costs: Costs) -> TrainingResult:
    """Return Flower's result: all numbers of the model, if there is one, and an entry for each round trip."""
    numbers = {} if model is None else model.to_arrays()
    arrays = {name: Array(values) for name, values in numbers.items() if values.dtype.kind != "U"}
    return TrainingResult(
        arrays=ArrayRecord(arrays),
        train_metrics_clientapp={
            round_trip: MetricRecord(dict(figures)) for round_trip, figures in costs.rounds.items()
        },
        model=model,
    )
