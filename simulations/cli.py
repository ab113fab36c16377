"""The console script ``pansvm``."""

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from flower_pansvm.errors import PanSVMError, SettingError
from flower_pansvm.setting_values import check_choice
from flower_pansvm.terms import Scalar
from simulations import selecting
from strategies.registry import all_strategies
from strategies.settings import Settings, make_settings, settings_from

cli = typer.Typer(
    help="Train one non-linear SVM over the rows of several hospitals; no row leaves its hospital.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

DEFAULTS = Settings()
DEFAULT_ENGINE = "simulation"
DEFAULT_ATTACK_MINUTES = 60.0
AUDITS = ("sums", "attack")

Label = Annotated[str | None, typer.Option(help="Label column; 'label' if not given.")]


@cli.callback()
def _group() -> None:
    """Make each command go by its name."""


@cli.command(
    "select",
    help="Choose features, all sites together, and train with these.\n\n"
    f"The options are those of run; without --strategy, {selecting.DEFAULT_STRATEGY} selects. --set step=1 says how "
    "many features go at a time, features=10 how many are left, select-tolerance=0.01 how much worse than the best "
    "fewer may be. filter-wrapper also has filter-fisher, filter-welch, filter-scatter and candidates.",
)
@cli.command(
    "tune",
    help="Choose C and gamma by federated cross-validation, and train with the best.\n\n"
    "The options are those of run. --set C-grid=1,4,16 and --set gamma-grid=0.01,0.1 say what is tried; a C or gamma "
    "that is given by --set is kept.",
)
@cli.command("run", help="Train and evaluate a model with simulated sites.")
def run(
    context: typer.Context,
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="Data set or file; given several times, each file is one site.", show_default="breast_cancer"
        ),
    ] = None,
    label: Label = None,
    positive: Annotated[str, typer.Option(help="Comma-separated labels that count as positive.")] = "",
    sites: Annotated[int, typer.Option(help="Number of sites the rows are dealt to.")] = DEFAULTS.sites,
    split: Annotated[
        str, typer.Option(help="iid, dirichlet:A, feature:COLUMN or by:COLUMN.")
    ] = DEFAULTS.split,
    strategy: Annotated[
        str | None,
        typer.Option(
            help="What is trained.",
            show_default=f"{DEFAULTS.strategy}; for select {selecting.DEFAULT_STRATEGY}",
        ),
    ] = None,
    aggregation: Annotated[str, typer.Option(help="Secure-sum protocol.")] = DEFAULTS.aggregation,
    engine: Annotated[str, typer.Option(help="simulation (Flower's own) or in-process.")] = DEFAULT_ENGINE,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other setting, for instance --set C=10."),
    ] = None,
    test_fraction: Annotated[
        float, typer.Option(help="Share of each site's rows kept for evaluation.")
    ] = DEFAULTS.test_fraction,
    seed: Annotated[int, typer.Option(help="Seed of the splits and of k-means.")] = DEFAULTS.seed,
    data_dir: Annotated[
        str, typer.Option(help="Folder of data sets.", show_default="$PANSVM_DATA")
    ] = DEFAULTS.data_dir,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results.", show_default="runs/DATE_TIME")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a run that was stopped: go on with it, with its settings.", show_default=False
        ),
    ] = None,
    audit: Annotated[
        str,
        typer.Option(
            metavar="[sums|attack]",
            help="Count the rows that a curious coordinator could have singled out: by adding and subtracting sums, "
            "or by an attack that fits rows to all of them. --audit alone is --audit=sums.",
            show_default="no audit",
        ),
    ] = "",
    attack_minutes: Annotated[
        float, typer.Option(min=0.1, help="How long --audit=attack tries; hours are worth it.")
    ] = DEFAULT_ATTACK_MINUTES,
) -> None:
    """Train and evaluate a model.

    ``tune`` differs from ``run`` in what C and gamma are if they are not given, ``select`` in the strategy; both print
    what they have found.
    """
    # Flower and scikit-learn take seconds to import; `pansvm --help` should not wait for them.
    from simulations.data.sites import join_data  # noqa: PLC0415
    from simulations.engines import running  # noqa: PLC0415

    check_choice("engine", engine, running.ENGINES)
    if audit:
        check_choice("audit", audit, AUDITS)
    show = Console(highlight=False, soft_wrap=True, markup=False).print
    tunes, selects = context.info_name == "tune", context.info_name == "select"
    if resume is not None:
        settings = running.resumed(resume)
        settings = replace(settings, audit=bool(audit) or settings.audit)
    else:
        options: dict[str, Scalar] = {
            "data": join_data(data or [DEFAULTS.data], data_dir),
            "label": label or "",
            "positive": positive,
            "sites": sites,
            "split": split,
            "strategy": strategy or (selecting.DEFAULT_STRATEGY if selects else DEFAULTS.strategy),
            "aggregation": aggregation,
            "test-fraction": test_fraction,
            "seed": seed,
            "data-dir": str(Path(data_dir).absolute()) if data_dir else "",
            "out": str((out or running.default_folder()).absolute()),
            "audit": bool(audit),
        }
        if tunes:
            options |= {"C": "auto", "gamma": "auto"}
        settings = settings_from(options | _assignments(set_ or []))
        settings = running.with_sites_of_data(settings)
        running.check(settings)
    _check_command(settings, tunes, selects)
    folder = running.run(settings, engine, show, attack_minutes if audit == "attack" else 0.0)
    if tunes:
        _print_choice(folder, context, engine)
    if selects:
        _print_selection(folder)
    _print_figures(folder)


@cli.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model.npz.")],
    file: Annotated[
        Path, typer.Argument(help="CSV, Parquet or LIBSVM text with the columns of the training.")
    ],
    label: Label = None,
    out: Annotated[
        Path | None, typer.Option(help="CSV file for the predictions.", show_default="print them")
    ] = None,
) -> None:
    """Predict the rows of a file; with a label column also the accuracy."""
    from clients.table.table import columns_text  # noqa: PLC0415
    from simulations.prediction import predict_file  # noqa: PLC0415

    predictions = predict_file(model, file, label)
    if out is None:
        sys.stdout.write(predictions.frame.to_csv(index=False))
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        predictions.frame.to_csv(out, index=False)
    if predictions.unused:
        unused = columns_text(predictions.unused)
        typer.echo(f"The model does not need {unused} of the file.", err=True)
    if predictions.accuracy is not None:
        typer.echo(f"accuracy {predictions.accuracy:.4f} over {len(predictions.frame)} rows", err=out is None)


@cli.command()
def report(folder: Annotated[Path, typer.Argument(help="Folder of a run, with its result.json.")]) -> None:
    """Write report.html again from a run's result.json."""
    from simulations.report.page import write_report  # noqa: PLC0415

    typer.echo(f"The report is in {write_report(folder)}")


@cli.command("settings")
def print_settings(
    strategy: Annotated[
        str | None, typer.Argument(help="A strategy, whose settings alone are printed.", show_default="all")
    ] = None,
) -> None:
    """Print the settings for --set and for Flower's run config: name, default, what it may be, and meaning."""
    from simulations import settings_table  # noqa: PLC0415

    show = Console(highlight=False, markup=False).print
    for title, settings in settings_table.groups(strategy).items():
        show(settings_table.table(title, settings))
        show()


@cli.command()
def keygen(
    file: Annotated[Path, typer.Argument(help="New file for the private half; it must not exist yet.")],
    name: Annotated[
        str | None, typer.Option(help="Name of the site.", show_default="the file's name without its ending")
    ] = None,
) -> None:
    """Make a hospital's long-lived identity, by which the other hospitals know its keys to be its own."""
    from flower_pansvm.secure_sum.new_identity import create_identity  # noqa: PLC0415

    public = create_identity(file)
    typer.echo(f"public identity: {public}")
    typer.echo(f"line for the roster file: {json.dumps(name or file.stem)}: {json.dumps(public)}")
    typer.echo(
        f"Keep {file} secret and readable for the SuperNode's account only, and give the line to every other hospital "
        "in a way that cannot be forged, such as on paper or in person. When the lines of all hospitals are in one "
        "JSON file {...}, with commas between them, start the SuperNode with "
        f"identity='{file.absolute()}' and roster='/path/to/that/file' in its node config."
    )


def main() -> None:
    """Run the command line; an error of the user's or of a site's ends it without a traceback."""
    # An option with a value that may be left out, which typer does not know.
    arguments = ["--audit=sums" if argument == "--audit" else argument for argument in sys.argv[1:]]
    try:
        cli(arguments)
    except PanSVMError as error:
        typer.echo(f"Error: {error.with_detail()}", err=True)
        sys.exit(1)


def _assignments(texts: list[str]) -> dict[str, Scalar]:
    """Return the settings given as KEY=VALUE."""
    values: dict[str, Scalar] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise SettingError(
                f"--set {text} has no '='. Write it as --set KEY=VALUE, for instance --set C=10."
            )
        values[key.strip()] = value.strip()
    return values


def _check_command(settings: Settings, tunes: bool, selects: bool) -> None:
    """Raise a SettingError if ``tune`` has nothing to choose, or ``select`` a strategy that selects nothing."""
    if tunes and not settings.tunes:
        raise SettingError(
            "There is nothing to choose: C and gamma are both given, or C is and the kernel, linear, has no gamma. "
            "Leave one of them out, or train with 'pansvm run'."
        )
    if selects and not settings.selects:
        selecting = [name for name in all_strategies() if make_settings(strategy=name).selects]
        raise SettingError(
            f"The strategy {settings.strategy} selects no features. Select with one of {', '.join(selecting)}, or "
            "train with 'pansvm run'."
        )


def _print_choice(folder: Path, context: typer.Context, engine: str) -> None:
    """Print the grid that model choice has tried and how to train with the best point again."""
    from simulations import tuning  # noqa: PLC0415
    from simulations.report.page import read_result  # noqa: PLC0415

    result = read_result(folder)
    chosen = result["chosen"]
    options = {name.removeprefix("--") for option in context.command.params for name in option.opts}
    again = tuning.command(result, options) + ("" if engine == DEFAULT_ENGINE else f" --engine {engine}")
    console = Console(highlight=False, markup=False)
    console.print(
        f"\nAccuracy over {result['config']['cv-folds']} folds of the training rows, mean ± deviation:\n"
    )
    console.print(tuning.grid_table(chosen))
    for name in tuning.edges(chosen):
        console.print(f"\nThe best {name} is at the edge of what was tried. Try more: --set {name}-grid=...")
    console.print(f"\nBest setting: {again}", soft_wrap=True)
    console.print("The model of the best setting has been trained as well, on all training rows:\n")


def _print_selection(folder: Path) -> None:
    """Print which features were chosen, how it came to that, and how to go on with them."""
    from simulations.report.page import read_result  # noqa: PLC0415
    from strategies.results import MODEL_FILE  # noqa: PLC0415

    result = read_result(folder)
    chosen = result["selected"]
    show = Console(highlight=False, markup=False).print
    show("\nAccuracy, mean ± deviation over folds of the training rows:\n")
    show(selecting.gain_table(result))
    show(f"\nThe {len(chosen)} chosen of {len(result['ranking'])} features, the most important first:")
    show(selecting.named(chosen), end="\n\n")
    show(selecting.steps_table(result))
    show(f"* chosen, {selecting.why_so_many(result)}\n")
    for text in filter(None, (selecting.cost(result), selecting.advice(result))):
        show(f"{text}\n")
    show(
        "The model has been trained on the chosen features, and needs only these columns to predict:\n"
        f"pansvm predict {shlex.quote(str(folder / MODEL_FILE))} FILE.csv\n"
        "To train on them with other settings, keep only these columns and the label in the file of each site.\n",
        soft_wrap=True,
    )


def _print_figures(folder: Path) -> None:
    """Print the figures of a run and where its files are."""
    from simulations.report.page import headline, read_result  # noqa: PLC0415
    from strategies.results import MODEL_FILE  # noqa: PLC0415

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in headline(read_result(folder)).items():
        table.add_row(name, value)
    console = Console(highlight=False, soft_wrap=True, markup=False)
    console.print(table)
    files = sorted(path.name for path in folder.iterdir() if path.is_file())
    what = "Model, figures and report" if MODEL_FILE in files else "Figures and report"
    console.print(f"{what} are in {folder}: {', '.join(files)}")
