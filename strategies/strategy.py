"""Base of every strategy: phases that end when they have converged, started like Flower's strategies."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import Field
from typing import Any, ClassVar, Self

from flwr.app import ArrayRecord, ConfigRecord, Context, MetricRecord
from flwr.serverapp import Grid

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError
from flower_pansvm.log import logger
from strategies.federation.checkpoint import Checkpoint
from strategies.federation.federation import Federation
from strategies.outcome import Outcome
from strategies.own_app import (
    OnRound,
    TrainingResult,
    refuse_ignored,
    result_of,
    settings_of_app,
    showing_rounds,
)
from strategies.registry import STRATEGIES
from strategies.settings import Settings
from strategies.steps.joining import with_simulated_nodes
from strategies.steps.private_tests import test_budget, tested_on_true_records
from strategies.steps.subgroups import by_subgroups


class PhasedStrategy(ABC):
    """Base of the strategies of this project.

    A subclass writes :meth:`fit`, its paper's algorithm, in terms of a
    :class:`~strategies.federation.federation.Federation`. A ServerApp starts it like one of Flower's strategies:
    :meth:`start` has their signature and returns their ``Result``. A subclass can override :meth:`after_round`, which
    gets the sums of every round trip.

    Parameters
    ----------
    settings : Settings
        Settings of the run.
    checkpoint : Checkpoint, optional
        Checkpoint of the run.

    Attributes
    ----------
    settings_class : type
        The strategy's settings, `Settings` or a subclass.
    several_classes : bool
        Whether it classifies more than two classes.
    by_columns : bool
        Whether sites may hold different columns.
    makes_model : bool
        Whether it makes a model that classifies a record without the sites.
    federation : Federation
        The sites, during and after the run.
    outcome : Outcome
        Model, accuracy and figures, after the run.
    """

    settings_class: ClassVar[type[Settings]] = Settings
    several_classes: ClassVar[bool] = True
    by_columns: ClassVar[bool] = False
    makes_model: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        """Raise a SettingError for a class whose settings no run could read: each run reads all strategies'."""
        super().__init_subclass__()
        own: object = cls.settings_class
        ours = isinstance(own, type) and issubclass(own, Settings)
        # A dataclass has put each field's default in its place.
        if not ours or any(isinstance(value, Field) for value in vars(own).values()):
            raise SettingError(
                f"{cls.__name__}.settings_class is no subclass of Settings with @dataclass(frozen=True) above it. Make "
                "it one, or leave it out."
            )

    def __init__(self, settings: Settings, checkpoint: Checkpoint | None = None) -> None:
        self.settings = settings
        self.checkpoint = checkpoint
        self.federation: Federation
        self.outcome: Outcome

    @abstractmethod
    def fit(self, federation: Federation) -> Outcome:
        """Train with the sites and evaluate the model on their test rows; runs at the coordinator."""

    @classmethod
    def from_context(cls, context: Context, **settings: Any) -> Self:
        """Return the strategy for another ServerApp.

        Parameters
        ----------
        context : Context
            The ServerApp's context, with the plugin's settings under ``pansvm.`` in its run config.
        **settings
            More settings, by their names in Python, such as ``C=10`` and ``class_weight="balanced"``.

        Raises
        ------
        SettingError
            If a setting is unknown or invalid, or must be in the run config because the sites read it, or the class
            has no name.
        """
        # A subclass that overrides `after_round` is still the strategy.
        name = next(filter(None, map(STRATEGIES.name_of, cls.__mro__)), None)
        if name is None:
            raise SettingError(
                f"There is no strategy '{cls.__name__}'. Install its package with an entry point of the group "
                f"{STRATEGIES.group} that names the class (docs/extending.md)."
            )
        return cls(settings_of_app(context, name, settings))

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord | None = None,
        num_rounds: int | None = None,
        timeout: float | None = None,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
        on_round: OnRound | None = None,
    ) -> TrainingResult:
        """Run all phases and return the model, its numbers and its accuracy.

        Parameters
        ----------
        grid : Grid
            Flower's grid.
        initial_arrays, num_rounds, timeout, train_config, evaluate_config
            Part of Flower's signature; they have no effect, and are refused.
        evaluate_fn : callable, optional
            Called with the number of round trips and the model's numbers; its metrics go into the result.
        on_round : callable, optional
            Called after each round trip with its number and a mapping: ``bytes-up``, ``bytes-down``, ``seconds``, and
            in training ``upper-bound`` and ``lower-bound`` of the objective of the problem furthest from its optimum.

        Returns
        -------
        TrainingResult
            ``model``, None without one; ``arrays`` holds all its numbers; ``train_metrics_clientapp`` has an entry for
            each round trip, ``evaluate_metrics_clientapp`` one for the last.

        Raises
        ------
        SettingError
            If a parameter without an effect is given.
        PanSVMError
            If a phase cannot be completed.
        """
        refuse_ignored(
            initial_arrays=initial_arrays,
            num_rounds=num_rounds,
            timeout=timeout,
            train_config=train_config,
            evaluate_config=evaluate_config,
        )
        self.settings = with_simulated_nodes(grid, self.settings)
        self.summary()

        def after(round_trip: int, task: str, sums: Mapping[str, Floats]) -> None:
            show(round_trip)
            self.after_round(round_trip, task, sums)

        self.federation = Federation(grid, self.settings, self.checkpoint, after)
        show = showing_rounds(self.federation.costs, on_round)
        outcome: object = self.fit(self.federation)
        if not isinstance(outcome, Outcome):
            raise SettingError(
                f"{type(self).__name__}.fit returns {type(outcome).__name__}. End it with: "
                "return Outcome(model, evaluation)."
            )
        self.outcome = outcome
        if self.settings.test_epsilon > 0 and self.outcome.model is not None:
            self.outcome = tested_on_true_records(
                test_budget(self.federation), self.settings, self.outcome.model, self.outcome
            )
        if self.settings.by and self.settings.level != "dp" and "subgroups" not in self.outcome.figures:
            self.outcome = by_subgroups(self.federation, self.outcome)
        trips, evaluation = self.federation.costs.round_trips, self.outcome.evaluation
        show(trips + 1)
        result = result_of(self.outcome.model, self.federation.costs)
        if evaluation is not None:
            # Without test rows there is no accuracy.
            result.evaluate_metrics_clientapp[trips] = MetricRecord({**evaluation.figures})
        if evaluate_fn is not None:
            metrics = evaluate_fn(trips, result.arrays)
            if metrics is not None:
                result.evaluate_metrics_serverapp[trips] = metrics
        return result

    def summary(self) -> None:
        """Log the settings of the run."""
        settings = self.settings
        level = (
            f"{settings.level}, noise {settings.noise:g}" if settings.level == "perturbed" else settings.level
        )
        text = "%s with secure sum '%s', sites=%d, privacy: %s"
        logger.info(text, settings.strategy, settings.aggregation, settings.sites, level)
        if not settings.protocol.protected:
            text = "NOTHING IS PROTECTED: with '%s' the coordinator sees every site's numbers; for comparison only"
            logger.warning(text, settings.aggregation)
        if settings.level == "exact":
            logger.warning("privacy=exact: the coordinator can compute patients' records from the sums")

    def after_round(self, server_round: int, task_name: str, sums: Mapping[str, Floats]) -> None:  # noqa: B027
        """Receive the sums of a round trip; for a subclass to override.

        Parameters
        ----------
        server_round : int
            Number of round trips so far.
        task_name : str
            Name of the task that all sites have answered.
        sums : mapping of str to ndarray
            The sums over the sites, not to be changed; empty for a task whose results are disclosed.
        """
