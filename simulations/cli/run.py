"""``pansvm run``, ``tune`` and ``select``: train with simulated sites, and say what was found."""

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from flower_pansvm.errors import EngineError, SettingError
from flower_pansvm.setting_values import check_choice
from flower_pansvm.terms import Scalar
from simulations import selecting
from simulations.cli.app import (
    STOPPED_BY_CTRL_C,
    DataDir,
    Drop,
    Label,
    Positive,
    SchemaFile,
    Sites,
    TestFraction,
    cli,
    together,
)
from simulations.cli.assignments import single_assignments
from simulations.cli.display import RunDisplay
from simulations.cli.output import Overwrite, cautions_of, check_folder_early, run_folder
from simulations.cli.reading import Reading, with_reading_options
from simulations.cli.select import print_selection
from simulations.cli.tune import print_choice
from strategies.registry import all_strategies
from strategies.settings import Settings, make_settings, settings_from

DEFAULTS = Settings()
DEFAULT_ENGINE = "simulation"
DEFAULT_ATTACK_MINUTES = 60.0
AUDITS = ("sums", "attack", "record")
ONLY_AS_OPTIONS = ("out", "resume", "audit")
"""Settings of which the command has to know."""

NOT_OF_THE_RUN = ("resume", "engine", "set_", "audit", "audit_also", "attack_minutes", "as_json", "quiet")
"""Options that go with --resume."""


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
@with_reading_options
def run(
    context: typer.Context,
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="Data set or file; given several times, each file is one site.", show_default="breast_cancer"
        ),
    ] = None,
    label: Label = None,
    schema: SchemaFile = None,
    drop: Drop = None,
    *,
    reading: Reading,
    positive: Positive = None,
    sites: Sites = DEFAULTS.sites,
    split: Annotated[
        str, typer.Option(help="iid, dirichlet:A, feature:COLUMN, by:COLUMN or checkerboard:RxS.")
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
    test_fraction: TestFraction = DEFAULTS.test_fraction,
    seed: Annotated[int, typer.Option(help="Seed of the splits and of k-means.")] = DEFAULTS.seed,
    data_dir: DataDir = DEFAULTS.data_dir,
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
            metavar="[sums|attack|record]",
            help="Count the records that a curious coordinator could have singled out: by adding and subtracting sums, "
            "or by an attack that solves for them; record only keeps the sums, for --audit-also of a later run. "
            "--audit alone is --audit=sums.",
            show_default="no audit",
        ),
    ] = "",
    attack_minutes: Annotated[
        float, typer.Option(min=0.1, help="How long --audit=attack tries; hours are worth it.")
    ] = DEFAULT_ATTACK_MINUTES,
    audit_also: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="Another run of the same sites, with --audit=record: --audit=attack uses its sums, too. Repeatable.",
            show_default=False,
        ),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print result.json, and progress to the standard error output.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Train and evaluate a model.

    ``tune`` differs from ``run`` in what C and gamma are if they are not given, ``select`` in the strategy; both print
    what they have found.
    """
    # Flower and scikit-learn take seconds to import; `pansvm --help` should not wait for them.
    from simulations.data.sites import join_data  # noqa: PLC0415
    from simulations.engines import running  # noqa: PLC0415
    from simulations.engines.processes import exit_on_signals  # noqa: PLC0415

    check_choice("engine", engine, running.ENGINES)
    _check_audit(context, audit)
    assigned = single_assignments(set_ or [])
    _check_options_are_given_once(context, assigned)
    if positive and not together(positive).strip(", "):
        raise SettingError(
            "--positive names no label. Write the labels that count as positive by commas: --positive 1,2."
        )
    tunes, selects = context.info_name == "tune", context.info_name == "select"
    if resume is not None:
        _check_resumes_only(context)
        settings = running.resumed(resume, assigned)
        settings = replace(settings, audit=bool(audit) or settings.audit)
    else:
        if out is not None:
            check_folder_early(out.absolute(), overwrite)
        data_dir = assigned.pop("data-dir", data_dir)  # data are looked for in it at once
        options: dict[str, Scalar] = {
            "data": join_data(data or [DEFAULTS.data], data_dir),
            "label": label or "",
            "schema": str(schema.absolute()) if schema else "",
            **reading,
            "drop": together(drop),
            "positive": together(positive),
            "sites": sites,
            "split": split,
            "strategy": strategy or (selecting.DEFAULT_STRATEGY if selects else DEFAULTS.strategy),
            "aggregation": aggregation,
            "test-fraction": test_fraction,
            "seed": seed,
            "data-dir": str(Path(data_dir).absolute()) if data_dir else "",
            "audit": bool(audit),
        }
        if tunes:
            options |= {"C": "auto", "gamma": "auto"}
        settings = settings_from(options | assigned)
        settings = running.with_sites_of_data(settings)
        running.check(settings)
        _warn(running.doubts_of(settings))
    _check_command(settings, tunes, selects)
    engine_option = "" if engine == DEFAULT_ENGINE else f" --engine {engine}"
    progress = RunDisplay.of(settings, quiet=quiet, brief=tunes or selects, stderr=as_json)
    place = run_folder(resume or out, overwrite, new=resume is None)
    with exit_on_signals(), place as folder, progress as display:
        settings = replace(settings, out=str(folder))
        try:
            running.run(
                settings, engine, display.show, running.Audited(audit, attack_minutes, audit_also or ())
            )
        except KeyboardInterrupt:
            _say_how_to_go_on(settings, f"pansvm {context.info_name}", engine_option)
            raise typer.Exit(STOPPED_BY_CTRL_C) from None
        except (EngineError, SystemExit):
            if not display.offered:
                _say_how_to_go_on(settings, f"pansvm {context.info_name}", engine_option)
            raise
    if as_json:
        _print_json(folder)
    else:
        _print_result(folder, context, engine_option, tunes, selects)


def _print_result(
    folder: Path, context: typer.Context, engine_option: str, tunes: bool, selects: bool
) -> None:
    """Print what ``tune`` has chosen or ``select`` selected, and the figures of the run."""
    if tunes:
        print_choice(folder, context, engine_option)
    if selects:
        print_selection(folder)
    _print_figures(folder)


def _warn(doubts: Iterable[str]) -> None:
    for text in doubts:
        typer.echo(f"Warning: {text}", err=True)


def _is_given(context: typer.Context, name: str) -> bool:
    """Return whether an option is on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _check_options_are_given_once(context: typer.Context, assigned: Mapping[str, str]) -> None:
    """Raise a SettingError if ``--set`` gives what an option has given already, or what only an option may give."""
    for option in context.command.params:
        key = option.opts[0].removeprefix("--")
        if key in assigned and (key in ONLY_AS_OPTIONS or _is_given(context, str(option.name))):
            raise SettingError(
                f"--set {key}={assigned[key]} would change what --{key} is for. Give only --{key}."
            )


def _check_audit(context: typer.Context, audit: str) -> None:
    """Raise a SettingError if there is no such audit, or an option goes with another one."""
    if audit:
        check_choice("audit", audit, AUDITS)
    for name, says in (
        ("attack_minutes", "says how long --audit=attack tries"),
        ("audit_also", "names runs whose sums --audit=attack uses, too"),
    ):
        if audit != "attack" and _is_given(context, name):
            raise SettingError(f"--{name.replace('_', '-')} {says}. Give both, or neither.")


def _check_resumes_only(context: typer.Context) -> None:
    """Raise a SettingError if ``--resume`` is given together with an option that would change the run."""
    given = [
        option.opts[0]
        for option in context.command.params
        if option.name not in NOT_OF_THE_RUN and _is_given(context, str(option.name))
    ]
    if given:
        raise SettingError(
            "--resume goes on with the settings of the run that was stopped, in its folder. Leave out "
            f"{', '.join(given)}, or start a new run without --resume."
        )


def _say_how_to_go_on(settings: Settings, command: str, engine_option: str) -> None:
    """Say how to go on with a run that was stopped, if its checkpoint has anything to go on with."""
    from strategies.federation.checkpoint import sums_in  # noqa: PLC0415

    folder = Path(settings.out)
    if sums_in(folder):
        again = f"{command} --resume {shlex.quote(str(folder))}{engine_option}"
        typer.echo(f"Stopped. What has been computed is kept; go on with: {again}", err=True)
    else:
        typer.echo("Stopped before there was anything to go on with. Start the run again.", err=True)


def _print_json(folder: Path) -> None:
    """Print ``result.json`` and the folder that it is in."""
    from strategies.results import read_result  # noqa: PLC0415

    typer.echo(json.dumps({"folder": str(folder), **read_result(folder)}, indent=2, ensure_ascii=False))


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


def _print_figures(folder: Path) -> None:
    """Print the figures of a run and where its files are."""
    from simulations.report.page import headline  # noqa: PLC0415
    from strategies.results import MODEL_FILE, read_result  # noqa: PLC0415

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in headline(read_result(folder)).items():
        table.add_row(name, value)
    console = Console(highlight=False, soft_wrap=True, markup=False)
    console.print(table)
    for text in cautions_of(folder):
        console.print(text)
    files = sorted(path.name for path in folder.iterdir() if path.is_file() and path.name[0] != ".")
    what = "Model, figures and report" if MODEL_FILE in files else "Figures and report"
    console.print(f"{what} are in {folder}: {', '.join(files)}")
