"""What ``flwr run`` leaves behind on a machine that simulates."""

from flwr.serverapp import Grid
from flwr.supercore.utils import get_flwr_home


def left_running(grid: Grid) -> str:
    """Return what keeps running after a simulated run and how to end it; nothing where nothing does.

    ``flwr run`` starts a SuperLink of its own if it finds none, and later runs from any folder use it. ``pansvm run``
    and deployments have theirs elsewhere.
    """
    log_file = get_flwr_home() / "local-superlink" / "superlink.log"
    # Flower has no public name for the grid of its simulation.
    if type(grid).__name__ != "InMemoryGrid" or not log_file.exists():
        return ""
    return (
        "flwr run leaves Flower's SuperLink running on this machine, with the code of the folder in which it was "
        f"started; its log is {log_file}. End it with: pkill -f local-superlink/superlink.log"
    )
