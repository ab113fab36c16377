"""The ServerApp: reads the run config, runs the chosen strategy and writes the results."""

import os
from contextlib import suppress
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from flower_pansvm.errors import SettingError, SumError, TrainingError
from flower_pansvm.locking import RUN, locked
from flower_pansvm.log import logger
from strategies.federation.checkpoint import Checkpoint
from strategies.federation.packed_grid import PackedGrid, is_deployment
from strategies.registry import STRATEGIES
from strategies.results import write
from strategies.settings import Settings, settings_from
from strategies.steps.joining import is_simulation
from strategies.strategy import PhasedStrategy

app = ServerApp()

FINISHED = "results are in %s"
"""The last line of a run that has succeeded, with the folder that is now complete."""


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run one training; an error must leave this function as an exception, or Flower counts the run as completed."""
    settings = settings_from(context.run_config)
    folder = Path(settings.out).absolute() if settings.out else Path.cwd() / "runs" / str(context.run_id)
    try:
        run(grid, settings, folder)
    finally:
        if text := superlink_hint(grid):
            logger.info(text)


def run(grid: Grid, settings: Settings, folder: Path) -> PhasedStrategy:
    """Train with the sites on the grid and write the results into a folder.

    Parameters
    ----------
    folder : Path
        Folder of the results, the checkpoint of a stopped run, and, with ``audit``, the transcript.

    Returns
    -------
    PhasedStrategy
        The strategy after the run.

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
    trained = False
    try:
        strategy.start(PackedGrid(grid) if is_deployment(grid) else grid)
        trained = True
        write(folder, strategy, strategy.settings)
    except Exception as error:
        # Errors of settings and sums would recur, but what was trained stays until it can be written.
        resumable = trained or not isinstance(error, SettingError | SumError | TrainingError)
        if resumable and (checkpoint.written or settings.resume):
            logger.info("the run stopped; resume it with: %s", resume_hint(grid, settings, folder))
        elif not settings.resume:
            checkpoint.remove()
        raise
    checkpoint.finish()
    evaluation = strategy.outcome.evaluation
    if evaluation is not None:
        accuracy = evaluation.accuracy
        logger.info(
            "test accuracy %s", "not measured, no test rows" if accuracy is None else f"{accuracy:.4f}"
        )
    logger.info(FINISHED, folder)
    return strategy


def resume_hint(grid: Grid, settings: Settings, folder: Path) -> str:
    """Return the command that resumes a stopped run, the one that it was started with."""
    if is_deployment(grid):
        text = f"pansvm coordinator train --resume --out {folder}, or flwr run as before with resume=true"
    else:
        command = "select" if settings.selects else "tune" if settings.tunes else "run"
        text = f"pansvm {command} --resume {folder}"
    # A reader of the replies to the failed sum could have learned from them.
    charge = ". The sum that failed is charged once more to each hospital that had replied, if enough budget is left"
    return text + charge if settings.dp else text


def superlink_hint(grid: Grid) -> str:
    """Return a hint how to end the SuperLink that a simulated run leaves running; empty if it leaves none.

    ``flwr run`` starts a SuperLink of its own if it finds none, and later runs from any folder use it. Those of
    ``pansvm run`` and of deployments are elsewhere.
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
    ids = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # the process has ended, or belongs to another account
            command = (process / "cmdline").read_bytes().split(b"\0")
            if os.fsencode(log_file) in command and process.stat().st_uid == os.getuid():
                ids.append(process.name)
    return sorted(ids, key=int)
