"""The ServerApp: reads the run config, runs the chosen strategy and writes the results."""

import sys
from logging import ERROR, INFO
from pathlib import Path

from flwr.app import Context
from flwr.common.logger import log
from flwr.serverapp import Grid, ServerApp

from flower_pansvm.errors import PanSVMError
from flower_pansvm.settings import Settings
from strategies.pan_svm import PanSVM
from strategies.results import write

STRATEGIES = {"pan-svm": PanSVM}

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run one training; a failure ends the process with an error, so that Flower marks the run as failed."""
    try:
        settings = Settings.from_config(context.run_config)
        strategy = STRATEGIES[settings.strategy](settings)
        strategy.start(grid)
        folder = Path(settings.out).absolute() if settings.out else Path.cwd() / "runs" / str(context.run_id)
        write(folder, strategy, settings)
    except PanSVMError as error:
        log(ERROR, "The run failed. %s", error)
        sys.exit(1)
    accuracy = strategy.evaluation.accuracy
    log(INFO, "test accuracy %s", "not measured, no test rows" if accuracy is None else f"{accuracy:.4f}")
    log(INFO, "results are in %s", folder)
