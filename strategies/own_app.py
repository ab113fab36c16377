"""A strategy in somebody else's Flower app: its settings from that app's run config, and Flower's Result of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flwr.app import Array, ArrayRecord, Context, MetricRecord
from flwr.serverapp.strategy import Result

from flower_pansvm.constraints import key_of
from flower_pansvm.errors import SettingError
from flower_pansvm.models.model import Model
from flower_pansvm.secure_sum import PROTOCOLS
from flower_pansvm.terms import PREFIX, Terms, own_keys
from strategies.federation.exchange import Costs
from strategies.settings import Settings, given_by, options_class, setting_fields, settings_from

OnRound = Callable[[int, Mapping[str, Any]], None]

NO_EFFECT = ("audit", "data", "data-dir", "drop", "out", "resume", "split")
"""Settings of ``pansvm run``, for its tables and its folder."""


@dataclass
class TrainingResult(Result):
    """Flower's result, and the model.

    ``train_metrics_clientapp`` has an entry for each round trip: its bytes up and down, its seconds, and in training
    the bounds of the objective.
    """

    model: Model | None = None


def settings_of_app(context: Context, strategy: str, given: Mapping[str, Any]) -> Settings:
    """Return a strategy's settings: the keys under ``pansvm.`` of an app's run config, and those given in code.

    Parameters
    ----------
    context : Context
        Of the ServerApp.
    strategy : str
        The strategy's name.
    given : mapping
        Settings by their names in Python; they come before the run config's.

    Raises
    ------
    SettingError
        If a setting is unknown or cannot work, has no effect in an app, names another strategy, or is given in code
        though the sites read it, too: they know the run config only.
    """
    config = own_keys(context.run_config)
    own = {key_of(name): value for name, value in given.items()}
    named = {**config, **own}.get("strategy", strategy)
    if named != strategy:
        raise SettingError(
            f"The ServerApp starts the class of {strategy}, and the run config has {PREFIX}strategy = '{named}'. "
            f"Remove {PREFIX}strategy, or start the class of {named}."
        )
    for key in NO_EFFECT:
        if key in config or key in own:
            raise SettingError(
                f"{PREFIX}{key} has no effect in an app of your own: its function returns the sites' rows, and its "
                "ServerApp keeps the result. Leave it out."
            )
    read_by_sites = {
        "label",
        *setting_fields(Terms),
        *(key for name in PROTOCOLS for key in setting_fields(options_class(name))),
    }
    for key in sorted(own.keys() & read_by_sites):
        if config.get(key) != own[key]:
            raise SettingError(
                f"The sites read '{key}', too, and know the run config only. Write it there: "
                f"[tool.flwr.app.config.{PREFIX.rstrip('.')}] {key} = {own[key]!r}."
            )
    # What the sites are told is in the run config; digests of both have to agree.
    return given_by(config, settings_from({"strategy": strategy, **config, **own}))


def refuse_ignored(**parameters: Any) -> None:
    """Raise a SettingError if a parameter of Flower's ``start`` is given that has no effect here."""
    instead = {
        "initial_arrays": "The phases begin with nothing.",
        "num_rounds": "Training ends when its bounds are within 'tol' of each other.",
        "timeout": "Set 'timeout' in the settings.",
        "train_config": "Give settings to from_context, or write them into the run config.",
        "evaluate_config": "Give settings to from_context, or write them into the run config.",
    }
    for name, value in parameters.items():
        if value is not None:
            raise SettingError(f"{name} has no effect on this strategy. {instead[name]} Leave it out.")


def showing_rounds(costs: Costs, on_round: OnRound | None) -> Callable[[int], None]:
    """Return a function that calls ``on_round`` for each round trip below a number that it was not called for."""
    shown = 0

    def show(end: int) -> None:
        nonlocal shown
        for number in range(shown + 1, end):
            if on_round is not None:
                on_round(number, dict(costs.rounds.get(number, {})))
        shown = max(shown, end - 1)

    return show


def result_of(model: Model | None, costs: Costs) -> TrainingResult:
    """Return Flower's result: all numbers of the model, none without a model, and an entry a round trip."""
    numbers = {} if model is None else model.to_arrays()
    arrays = {name: Array(part) for name, part in numbers.items() if part.dtype.kind != "U"}
    return TrainingResult(
        arrays=ArrayRecord(arrays),
        train_metrics_clientapp={number: MetricRecord(dict(one)) for number, one in costs.rounds.items()},
        model=model,
    )
