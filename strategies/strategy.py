"""What every strategy is: phases that end when they have converged, started as Flower's strategies are."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from logging import INFO, WARNING
from typing import ClassVar

from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord
from flwr.common.logger import log
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result

from flower_pansvm.arrays import Floats
from strategies.federation.checkpoint import Checkpoint
from strategies.federation.federation import Federation
from strategies.master.quadratic_program import solver
from strategies.outcome import Outcome
from strategies.settings import Settings
from strategies.steps.private_training import tested_on_true_records


class PhasedStrategy(ABC):
    """Base of the strategies of this project.

    A subclass writes :meth:`fit`, its paper's algorithm, in terms of a
    :class:`~strategies.federation.federation.Federation`. A ServerApp starts it like one of Flower's strategies:
    :meth:`start` has their signature and returns their ``Result``. What comes back from the sites can be looked at in
    :meth:`after_round`.

    Parameters
    ----------
    settings : Settings
        Settings of the run.
    checkpoint : Checkpoint, optional
        Checkpoint of the run.

    Attributes
    ----------
    settings_class : type
        The strategy's settings; a strategy with some of its own has a subclass.
    several_classes : bool
        Whether it tells more than two classes apart.
    by_columns : bool
        Whether sites may hold some of the columns only.
    makes_model : bool
        Whether there is a model that classifies a record without the sites' help.
    federation : Federation
        The sites, while and after the strategy runs.
    outcome : Outcome
        Model, accuracy and figures, after the run.
    """

    settings_class: ClassVar[type[Settings]] = Settings
    several_classes: ClassVar[bool] = True
    by_columns: ClassVar[bool] = False
    makes_model: ClassVar[bool] = True

    def __init__(self, settings: Settings, checkpoint: Checkpoint | None = None) -> None:
        self.settings = settings
        self.checkpoint = checkpoint
        self.federation: Federation
        self.outcome: Outcome

    @abstractmethod
    def fit(self, federation: Federation) -> Outcome:
        """Train together with the sites and try the model on their test rows; run by the coordinator."""

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord | None = None,  # noqa: ARG002
        num_rounds: int = 0,  # noqa: ARG002
        timeout: float = 3600,  # noqa: ARG002
        train_config: ConfigRecord | None = None,  # noqa: ARG002
        evaluate_config: ConfigRecord | None = None,  # noqa: ARG002
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> Result:
        """Run all phases and return the model's numbers and its accuracy.

        Parameters
        ----------
        grid : Grid
            Flower's grid.
        initial_arrays, num_rounds, timeout, train_config, evaluate_config
            Part of Flower's signature and not used: the phases begin with nothing, end when they have
            converged, and take everything else from the settings.
        evaluate_fn : callable, optional
            Called with the number of round trips and the model's numbers; its metrics go into the result.

        Returns
        -------
        Result
            ``arrays`` holds all numbers of the model, none without a model; the round is the number of round trips.

        Raises
        ------
        PanSVMError
            If a phase cannot be completed.
        """
        solver()  # without it the run would end after minutes, with nothing
        self.summary()
        self.federation = Federation(grid, self.settings, self.checkpoint, self.after_round)
        self.outcome = self.fit(self.federation)
        if self.settings.test_epsilon > 0 and self.outcome.model is not None:
            self.outcome = tested_on_true_records(
                self.federation, self.settings, self.outcome.model, self.outcome
            )
        model, evaluation = self.outcome.model, self.outcome.evaluation
        trips = self.federation.costs.round_trips
        numbers = {} if model is None else model.to_arrays()
        result = Result(
            arrays=ArrayRecord(
                {name: Array(part) for name, part in numbers.items() if part.dtype.kind != "U"}
            )
        )
        if evaluation is not None:
            # Without test rows there is no accuracy.
            result.evaluate_metrics_clientapp[trips] = MetricRecord({**evaluation.figures})
        if evaluate_fn is not None:
            own = evaluate_fn(trips, result.arrays)
            if own is not None:
                result.evaluate_metrics_serverapp[trips] = own
        return result

    def summary(self) -> None:
        """Log what is about to run."""
        chosen = self.settings
        level = f"{chosen.level}, noise {chosen.noise:g}" if chosen.level == "perturbed" else chosen.level
        text = "%s with secure sum '%s', %d sites, privacy: %s"
        log(INFO, text, chosen.strategy, chosen.aggregation, chosen.sites, level)
        if chosen.level == "exact":
            log(
                WARNING,
                "privacy=exact: whoever runs the coordinator can compute patients' records from the sums",
            )

    def after_round(self, server_round: int, task_name: str, sums: Mapping[str, Floats]) -> None:  # noqa: B027
        """Look at what has come back from the sites; for a subclass to override.

        Parameters
        ----------
        server_round : int
            Number of round trips so far.
        task_name : str
            Name of the task that all sites have answered.
        sums : mapping of str to ndarray
            The sums over the sites, of which nothing may be changed; empty if the sites have disclosed what was asked.
        """
