"""The ServerApp: reads the run config, runs the chosen strategy and writes the results."""

from logging import INFO
from pathlib import Path

from flwr.app import Context
from flwr.common.logger import log
from flwr.serverapp import Grid, ServerApp

from flower_pansvm.settings import Settings
from strategies.pan_svm import PanSVM
from strategies.results import write

STRATEGIES = {"pan-svm": PanSVM}

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run one training; an error must leave this function as an exception, or Flower takes the run for completed."""
    settings = Settings.from_config(context.run_config)
    strategy = STRATEGIES[settings.strategy](settings)
    strategy.start(grid)
    folder = Path(settings.out).absolute() if settings.out else Path.cwd() / "runs" / str(context.run_id)
    write(folder, strategy, settings)
    accuracy = strategy.evaluation.accuracy
    log(INFO, "test accuracy %s", "not measured, no test rows" if accuracy is None else f"{accuracy:.4f}")
    log(INFO, "results are in %s", folder)
