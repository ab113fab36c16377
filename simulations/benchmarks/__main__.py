"""``python -m simulations.benchmarks NAME`` measures the ``TABLES`` of module NAME and writes ``results/NAME.json``."""

import logging
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated

import typer

from flower_pansvm.constraints import check_choice
from flower_pansvm.errors import PanSVMError
from simulations.benchmarks.results import write_results
from simulations.engines.flower_log import quieter

NAMES = sorted(
    {module.name for module in iter_modules([str(Path(__file__).parent)])} - {"__main__", "results"}
)


def main(
    name: Annotated[str, typer.Argument(help="The benchmark: docs/benchmarks.md lists all.")],
    data_dir: Annotated[Path | None, typer.Option(help="Folder of data sets.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("results"),
    cluster: Annotated[
        str, typer.Option(envvar="RAY_ADDRESS", help="A Ray cluster's address: runs are its tasks.")
    ] = "",
    long: Annotated[bool, typer.Option("--long", help="Of faults: also a stall of ten minutes.")] = False,
) -> None:
    """Measure all tables of a benchmark; strategies log errors only."""
    try:
        check_choice("benchmark", name, NAMES)
    except PanSVMError as error:
        raise typer.BadParameter(str(error)) from None
    cluster = "" if cluster == "local" else cluster
    # A node has another working directory.
    given = {"data_dir": data_dir and data_dir.absolute(), "out": out, "cluster": cluster, "long": long}
    measured, tables = {}, import_module(f"simulations.benchmarks.{name}").TABLES
    if cluster and not any("cluster" in signature(lines).parameters for lines in tables.values()):
        raise typer.BadParameter(
            f"{name} runs on this machine alone: it measures its seconds, or has its own tables here. Leave --cluster "
            "out, or unset RAY_ADDRESS."
        )
    with quieter(logging.ERROR):
        for table, lines in tables.items():
            wanted = signature(lines).parameters.keys() & given
            if "data_dir" in wanted and data_dir is None:
                raise typer.BadParameter("This benchmark needs a folder of data sets: --data-dir DIR")
            measured[table] = list(lines(**{key: given[key] for key in wanted}))
        write_results(name, measured, out)


if __name__ == "__main__":
    typer.run(main)
