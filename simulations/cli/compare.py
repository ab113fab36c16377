"""``pansvm compare``: strategies and baselines side by side."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer
from rich.console import Console

from flower_pansvm.command_line import (
    LISTS,
    OF_COMMANDS,
    Given,
    Set,
    check_can_be_folder,
    command,
    given,
    single,
)
from flower_pansvm.errors import SettingError
from flower_pansvm.lists import split_list
from simulations.cli.options import Cluster, SettingsCommand, remote
from strategies.run_folder import made_folder
from strategies.settings import Settings

if TYPE_CHECKING:
    from simulations.comparison.plan import Plan

DEFAULTS = Settings()
LEVEL = "exact"
"""The usual level: a simulation's rows are the researcher's own, and baselines train on true rows."""
ONCE = (*LISTS, "label", "schema", "data-dir", "seed")
"""Settings of the data, which all runs share."""


class CompareCommand(SettingsCommand):
    """The options of a comparison: each value of a repeated setting is compared."""

    without = (*OF_COMMANDS, "strategy", "split", "aggregation")
    other_defaults: ClassVar = {"privacy": LEVEL}


@command(cls=CompareCommand)
def compare(
    context: typer.Context,
    strategies: Annotated[
        str, typer.Option(help="Strategies and baselines, comma-separated.")
    ] = "pan-svm,local-only,central:svc",
    splits: Annotated[
        str,
        typer.Option(
            help="iid, dirichlet:ALPHA, dirichlet:ALPHA:ROWS, quantity:ALPHA, quantity:ALPHA:ROWS, feature:COLUMN, "
            "by:COLUMN or checkerboard:RxS, comma-separated."
        ),
    ] = DEFAULTS.split,
    aggregations: Annotated[
        str, typer.Option(help="Secure-sum protocols, comma-separated.")
    ] = DEFAULTS.aggregation,
    leave_out: Annotated[
        bool,
        typer.Option(
            "--leave-out",
            help="Leave each site's file out in turn, and test the others' model on all of its rows.",
        ),
    ] = False,
    repeats: Annotated[
        int, typer.Option(min=1, help="Number of splits, with consecutive seeds from --seed on.")
    ] = 5,
    set_: Set = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs at a time.", show_default="one per processor")
    ] = None,
    cluster: Cluster = "",
    format_: Annotated[
        Literal["csv", "md", "latex"],
        typer.Option("--format", help="Form of the printed table, which is also in a file."),
    ] = "md",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the results; an unfinished comparison there is continued.",
            show_default="runs/DATE_TIME",
        ),
    ] = None,
) -> None:
    """Compare strategies and baselines on the same data, splits and seeds, with tests of the differences.

    Each --data is a data set; 'a.csv|b.csv' is one file per site. Each value of any other repeated setting is compared,
    for all strategies that have it.
    """
    # Imports of seconds, for which `pansvm --help` should not wait.
    from joblib import cpu_count  # noqa: PLC0415

    from flower_pansvm.study.processes import exit_on_signals  # noqa: PLC0415
    from simulations.comparison.comparing import compare as run_comparison  # noqa: PLC0415

    plan = _plan(
        given(context, set_ or ()),
        _words(strategies),
        _words(splits),
        _words(aggregations),
        repeats,
        leave_out,
    )
    if jobs and remote(cluster):
        raise SettingError(
            "--jobs is of this machine, and a cluster (--cluster, RAY_ADDRESS) does a run per processor. Leave it out."
        )
    if out is not None:
        check_can_be_folder(out.absolute())
    console = Console(highlight=False, markup=False)
    with exit_on_signals(), made_folder(out) as folder:
        try:
            failed = run_comparison(plan, folder, jobs or cpu_count(), console, format_, remote(cluster))
        except (KeyboardInterrupt, SystemExit):
            typer.echo(f"Stopped. Continue with: {_command(folder)}", err=True)
            raise
    if failed:
        sys.exit(1)


def _plan(
    typed: Given,
    strategies: tuple[str, ...],
    splits: tuple[str, ...],
    aggregations: tuple[str, ...],
    repeats: int,
    leave_out: bool,
) -> "Plan":
    from simulations.comparison.plan import Plan  # noqa: PLC0415 - takes seconds to import

    common = single({key: typed[key] for key in ONCE if key in typed})
    paths = {key: str(Path(common[key]).absolute()) for key in ("schema", "data-dir") if common.get(key)}
    try:
        seed = int(common.pop("seed", DEFAULTS.seed))
    except ValueError:
        raise SettingError(f"seed is '{typed['seed'][0]}', but it must be a whole number.") from None
    return Plan(
        data=typed.get("data", (DEFAULTS.data,)),
        strategies=strategies,
        splits=splits,
        aggregations=aggregations,
        repeats=repeats,
        seed=seed,
        common={"data-dir": "", **common, **paths},
        varied={
            "privacy": (LEVEL,),
            **{key: values for key, values in typed.items() if key not in (*ONCE, "data")},
        },
        leave_out=leave_out,
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(filter(None, split_list(text)))


def _command(folder: Path) -> str:
    """Return the command line that continues this comparison."""
    arguments = sys.argv[1:]
    named = any(word == "--out" or word.startswith("--out=") for word in arguments)
    return shlex.join(["pansvm", *arguments, *([] if named else ["--out", str(folder)])])
