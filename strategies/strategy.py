"""A Flower Strategy whose phases end when they have converged, not after a fixed number of rounds."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from logging import INFO, WARNING
from typing import ClassVar

from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.common.logger import log
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from strategies.federation.checkpoint import Checkpoint
from strategies.federation.federation import Federation
from strategies.federation.transcript import Transcript
from strategies.master.quadratic_program import solver
from strategies.outcome import Outcome
from strategies.settings import Settings


class PhasedStrategy(Strategy):
    """Base of the strategies of this project.

    A subclass writes :meth:`fit`, its paper's algorithm, in terms of a
    :class:`~strategies.federation.federation.Federation`. Flower's own hooks stay usable: every secure sum goes through
    :meth:`configure_train` and :meth:`aggregate_train` (or their twins for evaluation), so a subclass can change who is
    asked or look at what comes back. Arrays in messages are bytes without numpy's header, which
    :func:`flower_pansvm.records.read_array` reads and Flower's own ``Array.numpy`` does not.

    Parameters
    ----------
    settings : Settings
        Settings of the run.
    checkpoint : Checkpoint, optional
        Checkpoint of the run.
    transcript : Transcript, optional
        Record of what the sites were asked, for an audit.

    Attributes
    ----------
    settings_class : type
        The strategy's settings; a strategy with some of its own has a subclass.
    several_classes : bool
        Whether it tells more than two classes apart.
    by_columns : bool
        Whether sites may hold some of the columns only.
    federation : Federation
        The sites, while and after the strategy runs.
    outcome : Outcome
        Model, accuracy and figures, after the run.
    """

    settings_class: ClassVar[type[Settings]] = Settings
    several_classes: ClassVar[bool] = True
    by_columns: ClassVar[bool] = False

    def __init__(
        self, settings: Settings, checkpoint: Checkpoint | None = None, transcript: Transcript | None = None
    ) -> None:
        self.settings = settings
        self.checkpoint = checkpoint
        self.transcript = transcript
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
        self.federation = Federation(grid, self.settings, self, self.checkpoint, self.transcript)
        self.outcome = self.fit(self.federation)
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

    def configure_train(
        self,
        server_round: int,  # noqa: ARG002
        arrays: ArrayRecord,
        config: ConfigRecord,
        grid: Grid,  # noqa: ARG002
    ) -> Iterable[Message]:
        """Return the messages of one round trip: the same inputs to every site."""
        return self.federation.requests(arrays, config)

    def aggregate_train(
        self,
        server_round: int,  # noqa: ARG002
        replies: Iterable[Message],
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Return the sums over the sites, the only thing the coordinator learns."""
        return ArrayRecord(
            {name: Array(total) for name, total in self.federation.open(replies).items()}
        ), None

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return the messages of the evaluation's round trip: the same inputs to every site."""
        return self.configure_train(server_round, arrays, config, grid)

    def aggregate_evaluate(
        self,
        server_round: int,  # noqa: ARG002
        replies: Iterable[Message],
    ) -> MetricRecord | None:
        """Return the counts of test rows summed over the sites, each as a flat list."""
        return MetricRecord(
            {name: total.ravel().tolist() for name, total in self.federation.open(replies).items()}
        )
