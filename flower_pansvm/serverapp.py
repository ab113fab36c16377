"""The strategies in somebody else's Flower app, from whose run config they take the keys under ``pansvm.``.

::

    @app.main()
    def main(grid, context):
        result = PanSVM.from_context(context, C=10).start(grid)
"""

from typing import TYPE_CHECKING, Any

from flower_pansvm.doors import open_door

if TYPE_CHECKING:
    from strategies.dp_svm.strategy import DpSvm
    from strategies.pan_svm.strategy import PanSVM
    from strategies.selection.filter_wrapper import FilterWrapper
    from strategies.selection.voted_wrapper import Rsvm, SvmRfe, SvmT, VotedWrapper

__all__ = ["DpSvm", "FilterWrapper", "PanSVM", "Rsvm", "SvmRfe", "SvmT", "VotedWrapper"]

PLACES = {
    "DpSvm": "strategies.dp_svm.strategy",
    "FilterWrapper": "strategies.selection.filter_wrapper",
    "PanSVM": "strategies.pan_svm.strategy",
    **dict.fromkeys(("Rsvm", "SvmRfe", "SvmT"), "strategies.selection.voted_wrapper"),
    "VotedWrapper": "strategies.selection.voted_wrapper",
}


def __getattr__(name: str) -> Any:
    """Import a strategy when it is asked for."""
    return open_door(__name__, PLACES, name)
