"""The ServerApp: reads the run config, runs the chosen strategy and writes the results."""

import os
from contextlib import suppress
from logging import INFO
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from flower_pansvm.errors import SettingError, SumError, TrainingError
from flower_pansvm.locking import RUN, locked
from strategies.federation.checkpoint import Checkpoint
from strategies.federation.packed_grid import PackedGrid, is_deployment
from strategies.log import log
from strategies.registry import STRATEGIES
from strategies.results import write
from strategies.settings import Settings, settings_from
from strategies.steps.joining import is_simulation
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
        if text := superlink_hint(grid):
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
    strategy: PhasedStrategy = STRATEGIES[settings.strategy](settings, checkpoint)
    try:
        strategy.start(PackedGrid(grid) if is_deployment(grid) else grid)
    except Exception as error:
        # Settings and sums that lead to an error would lead to it again.
        again = not isinstance(error, SettingError | SumError | TrainingError)
        if again and (checkpoint.written or settings.resume):
            log(INFO, "the run stopped; go on with: %s", resume_hint(grid, settings, folder))
        elif not settings.resume:
            checkpoint.remove()
        raise
    write(folder, strategy, strategy.settings)
    checkpoint.finish()
    evaluation = strategy.outcome.evaluation
    if evaluation is not None:
        accuracy = evaluation.accuracy
        log(INFO, "test accuracy %s", "not measured, no test rows" if accuracy is None else f"{accuracy:.4f}")
    log(INFO, "results are in %s", folder)
    return strategy


def resume_hint(grid: Grid, settings: Settings, folder: Path) -> str:
    """Return how to resume a run that was stopped: by the command that it was started with."""
    if is_deployment(grid):
        text = f"pansvm coordinator train --resume --out {folder}, or flwr run as before with resume=true"
    else:
        command = "select" if settings.selects else "tune" if settings.tunes else "run"
        text = f"pansvm {command} --resume {folder}"
    # Whoever could read the answers that there were would have learned from them.
    again = ". The sum that failed is charged once more to each hospital that had answered, if so much budget is left"
    return text + again if settings.dp else text


def superlink_hint(grid: Grid) -> str:
    """Return what keeps running after a simulated run and how to end it; nothing where nothing does.

    ``flwr run`` starts a SuperLink of its own if it finds none, and later runs from any folder use it. ``pansvm run``
    and deployments have theirs elsewhere.
    """
    from flwr.supercore.utils import get_flwr_home  # noqa: PLC0415 - as long as all strategies, for few runs

    log_file = get_flwr_home() / "local-superlink" / "superlink.log"
    if not is_simulation(grid) or not log_file.exists():
        return ""
    running = superlink_processes(log_file)
    end = f"kill {' '.join(running)}" if running else "pkill -f local-superlink/superlink.log"
    return (
        "flwr run leaves Flower's SuperLink running on this machine, with the code of the folder in which it was "
        f"started; its log is {log_file}. End it with: {end}"
    )


def superlink_processes(log_file: Path) -> list[str]:
    """Return the ids of this account's processes whose command names a log file; none where there is no ``/proc``."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is somebody else's
            command = (process / "cmdline").read_bytes().split(b"\0")
            if os.fsencode(log_file) in command and process.stat().st_uid == os.getuid():
                found.append(process.name)
    return sorted(found, key=int)
