"""How to go on with a run that was stopped, by the command that it was started with."""

from pathlib import Path

from flwr.serverapp import Grid

from strategies.settings import Settings


def how_to_go_on(grid: Grid, settings: Settings, folder: Path) -> str:
    """Return what to type; in a deployment the coordinator's command knows the hospitals, and ``flwr run`` does too."""
    # Flower has no public name for the grid of a deployment.
    if type(grid).__name__ == "HttpGrid":
        text = f"pansvm coordinator train --resume --out {folder}, or flwr run as before with resume=true"
    else:
        command = "select" if settings.selects else "tune" if settings.tunes else "run"
        text = f"pansvm {command} --resume {folder}"
    # Whoever could read the answers that there were would have learned from them.
    again = ". The sum that failed is charged once more to each hospital that had answered, if so much budget is left"
    return text + again if settings.dp else text
