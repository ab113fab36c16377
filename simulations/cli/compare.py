"""``pansvm compare``: strategies and baselines side by side."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from flower_pansvm.reading_options import listed
from flower_pansvm.terms import Scalar
from simulations.cli.app import DataDir, Drop, Label, Positive, SchemaFile, Sites, TestFraction, cli, together
from simulations.cli.assignments import assignments
from simulations.cli.output import check_can_be_folder
from simulations.cli.reading import Reading, with_reading_options
from simulations.files import made_folder
from strategies.settings import Settings

DEFAULTS = Settings()


@cli.command("compare")
@with_reading_options
def compare(
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="Data set or file, may be given several times; 'a.csv|b.csv' is one file per site.",
            show_default="breast_cancer",
        ),
    ] = None,
    strategies: Annotated[
        str, typer.Option(help="Strategies and baselines, by commas.")
    ] = "pan-svm,local-only,central:svc",
    splits: Annotated[
        str, typer.Option(help="iid, dirichlet:A, feature:COLUMN, by:COLUMN or checkerboard:RxS, by commas.")
    ] = DEFAULTS.split,
    aggregations: Annotated[
        str, typer.Option(help="Secure-sum protocols, by commas.")
    ] = DEFAULTS.aggregation,
    repeats: Annotated[int, typer.Option(min=1, help="Splits by so many seeds.")] = 5,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting, for all strategies that have it; a KEY given several times is compared.",
        ),
    ] = None,
    label: Label = None,
    schema: SchemaFile = None,
    drop: Drop = None,
    *,
    reading: Reading,
    positive: Positive = None,
    sites: Sites = DEFAULTS.sites,
    test_fraction: TestFraction = DEFAULTS.test_fraction,
    seed: Annotated[int, typer.Option(help="Seed of the first repeat; the others follow.")] = DEFAULTS.seed,
    data_dir: DataDir = DEFAULTS.data_dir,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs at a time.", show_default="one per processor")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the results; one of the same comparison is gone on with.",
            show_default="runs/DATE_TIME",
        ),
    ] = None,
) -> None:
    """Run strategies and baselines on the same data, splits and seeds, and say which differ."""
    # Flower, scikit-learn and pandas take seconds to import; `pansvm --help` should not wait for them.
    from joblib import cpu_count  # noqa: PLC0415

    from simulations.comparison.comparing import compare as run_comparison  # noqa: PLC0415
    from simulations.comparison.plan import Plan  # noqa: PLC0415
    from simulations.engines.processes import exit_on_signals  # noqa: PLC0415

    common: dict[str, Scalar] = {
        "label": label or "",
        "schema": str(schema.absolute()) if schema else "",
        **reading,
        "drop": together(drop),
        "positive": together(positive),
        "sites": sites,
        "test-fraction": test_fraction,
        "data-dir": str(Path(data_dir).absolute()) if data_dir else "",
    }
    varied: dict[str, tuple[Scalar, ...]] = {}
    for key, value in assignments(set_ or []):
        varied[key] = (*varied.get(key, ()), value)
    plan = Plan(
        data=tuple(data or [DEFAULTS.data]),
        strategies=_words(strategies),
        splits=_words(splits),
        aggregations=_words(aggregations),
        repeats=repeats,
        seed=seed,
        common=common,
        varied=varied,
    )
    if out is not None:
        check_can_be_folder(out.absolute())
    console = Console(highlight=False, markup=False)
    with exit_on_signals(), made_folder(out) as folder:
        try:
            failed = run_comparison(plan, folder, jobs or cpu_count(), console)
        except (KeyboardInterrupt, SystemExit):
            typer.echo(f"Stopped. Go on with: {_command(folder)}", err=True)
            raise
    if failed:
        sys.exit(1)


def _words(text: str) -> tuple[str, ...]:
    return tuple(filter(None, listed(text)))


def _command(folder: Path) -> str:
    """Return the command line that goes on with this comparison."""
    given = sys.argv[1:]
    named = any(word == "--out" or word.startswith("--out=") for word in given)
    return shlex.join(["pansvm", *given, *([] if named else ["--out", str(folder)])])
