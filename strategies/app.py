"""The ServerApp: reads the run config, runs the chosen strategy and writes the results."""

from logging import INFO
from pathlib import Path

from flwr.app import Context
from flwr.common.logger import log
from flwr.serverapp import Grid, ServerApp

from flower_pansvm.errors import SettingError, SumError, TrainingError
from strategies.federation.checkpoint import Checkpoint
from strategies.federation.transcript import Transcript
from strategies.going_on import how_to_go_on
from strategies.left_running import left_running
from strategies.locking import RUN, locked
from strategies.registry import all_strategies
from strategies.results import write
from strategies.settings import Settings, settings_from
from strategies.strategy import PhasedStrategy

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run one training; an error must leave this function as an exception, or Flower takes the run for completed."""
    settings = settings_from(context.run_config)
    folder = Path(settings.out).absolute() if settings.out else Path.cwd() / "runs" / str(context.run_id)
    try:
        run(grid, settings, folder)
    finally:
        if text := left_running(grid):
            log(INFO, text)


def run(grid: Grid, settings: Settings, folder: Path) -> PhasedStrategy:
    """Train with the sites on the grid and write the results into a folder.

    Parameters
    ----------
    grid : Grid
        Flower's grid.
    settings : Settings
        The run's settings.
    folder : Path
        Where results go, the checkpoint of a run that is stopped, and, with ``audit``, what the sites were asked.

    Returns
    -------
    PhasedStrategy
        The strategy with everything it has learned.

    Raises
    ------
    PanSVMError
        If the run fails; its checkpoint stays in the folder.
    """
    with locked(folder, RUN):
        return _run(grid, settings, folder)


def _run(grid: Grid, settings: Settings, folder: Path) -> PhasedStrategy:
    checkpoint = Checkpoint(folder, settings)
    strategy = all_strategies()[settings.strategy](
        settings, checkpoint, Transcript(folder) if settings.audit else None
    )
    try:
        strategy.start(grid)
    except Exception as error:
        # Settings and sums that lead to an error would lead to it again.
        again = not isinstance(error, SettingError | SumError | TrainingError)
        if again and (checkpoint.written or settings.resume):
            log(INFO, "the run stopped; go on with: %s", how_to_go_on(grid, settings, folder))
        elif not settings.resume:
            checkpoint.remove()
        raise
    write(folder, strategy, settings)
    checkpoint.remove()
    evaluation = strategy.outcome.evaluation
    if evaluation is not None:
        accuracy = evaluation.accuracy
        log(INFO, "test accuracy %s", "not measured, no test rows" if accuracy is None else f"{accuracy:.4f}")
    log(INFO, "results are in %s", folder)
    return strategy
