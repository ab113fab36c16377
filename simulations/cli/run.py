"""``pansvm run``, ``tune`` and ``select``: train with simulated sites, and print the results."""

import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from flower_pansvm.command_line import STOPPED_BY_CTRL_C, Given, Overwrite, Set, command, given, single
from flower_pansvm.constraints import check_choice
from flower_pansvm.errors import EngineError, SettingError
from flower_pansvm.result_file import MODEL_FILE, RESULT_FILE, read_result
from simulations.cli.options import SettingsCommand
from strategies.registry import STRATEGIES, usable
from strategies.run_display import RunDisplay
from strategies.run_folder import cautions_of, check_folder_early, run_folder
from strategies.settings import Settings, make_settings, owners, settings_from

DEFAULT_ENGINE = "simulation"
DEFAULT_SELECTION = "voted-wrapper"
"""Default strategy of ``pansvm select``: the paper's PPFSVW."""

DEFAULT_ATTACK_MINUTES = 60.0
AUDITS = ("sums", "attack", "record")
DEFAULT_AUDIT = AUDITS[0]

PANEL = "Engine, folder and output"
Engine = Annotated[str, typer.Option(help="simulation (Flower's own) or in-process.", rich_help_panel=PANEL)]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder for the results.", show_default="runs/DATE_TIME", rich_help_panel=PANEL),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        help="Continue the stopped run in this folder, with its settings.",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.", rich_help_panel=PANEL)]


@command(cls=SettingsCommand)
def run(
    context: typer.Context,
    set_: Set = None,
    engine: Engine = DEFAULT_ENGINE,
    out: Out = None,
    resume: Resume = None,
    audit: Annotated[
        str,
        typer.Option(
            metavar="[sums|attack|record]",
            help="Count the records that a semi-honest coordinator could compute: from sums and their differences, or "
            "by an attack that solves for them; record only keeps the sums, for --audit-also of a later run. "
            "--audit alone is --audit=sums.",
            show_default="no audit",
            rich_help_panel=PANEL,
        ),
    ] = "",
    attack_minutes: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            help="Duration of --audit=attack; hours find more.",
            show_default=f"{DEFAULT_ATTACK_MINUTES:g}",
            rich_help_panel=PANEL,
        ),
    ] = None,
    audit_also: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="Another run of the same sites with --audit=record, whose sums --audit=attack also uses. Repeatable.",
            show_default=False,
            rich_help_panel=PANEL,
        ),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Train and evaluate a model with simulated sites."""
    _check_audit(audit, attack_minutes, audit_also)
    training = Training("run", given(context, set_ or ()), engine, out, resume, overwrite, quiet)
    training.run(training.settings({}), audit, attack_minutes or DEFAULT_ATTACK_MINUTES, audit_also or ())


@command(cls=SettingsCommand)
def tune(
    context: typer.Context,
    set_: Set = None,
    engine: Engine = DEFAULT_ENGINE,
    out: Out = None,
    resume: Resume = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Choose C and gamma by federated cross-validation, and train with the best.

    --C 1,4,16 and --gamma 0.01,0.1 are the values to compare; a single value of C or gamma is kept.
    """
    training = Training("tune", given(context, set_ or ()), engine, out, resume, overwrite, quiet)
    able, strategy = owners("cv-folds"), training.given.get("strategy", (Settings.strategy,))[0]
    if strategy in STRATEGIES and strategy not in able:
        raise SettingError(
            f"The strategy {strategy} does not choose C and gamma. Tune one of {', '.join(able)}, or train with "
            "'pansvm run'."
        )
    settings = training.settings({"C": "auto", "gamma": "auto"})
    if not settings.tunes:
        raise SettingError(
            "There is nothing to tune: C and gamma are both given, or C is given and the linear kernel has no gamma. "
            "Leave one of them out, or train with 'pansvm run'."
        )
    training.run(settings)


@command(cls=SettingsCommand)
def select(
    context: typer.Context,
    set_: Set = None,
    engine: Engine = DEFAULT_ENGINE,
    out: Out = None,
    resume: Resume = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Select features, all sites together, and train with them; the default strategy is voted-wrapper.

    --step 1 removes one feature at a time, --features 10 stops at ten.
    """
    training = Training("select", given(context, set_ or ()), engine, out, resume, overwrite, quiet)
    settings = training.settings({"strategy": DEFAULT_SELECTION})
    if not settings.selects:
        able = [name for name in usable(STRATEGIES) if make_settings(strategy=name).selects]
        raise SettingError(
            f"The strategy {settings.strategy} selects no features. Select with one of {', '.join(able)}, or train "
            "with 'pansvm run'."
        )
    training.run(settings)


@dataclass(frozen=True)
class Training:
    """One training with the options of its command line; shared by the commands that train."""

    command: str  # {'run', 'tune', 'select'}; the last two also print their choice
    given: Given  # the typed settings
    # engine, out, resume, overwrite, quiet: the command's own options.
    engine: str
    out: Path | None
    resume: Path | None
    overwrite: bool
    quiet: bool

    def settings(self, defaults: Mapping[str, str]) -> Settings:
        """Return the settings, checked with the data: those given, or those of the resumed run.

        ``defaults`` are the command's own. PanSVMError if settings are invalid, or options contradict each other.
        """
        from simulations import running  # noqa: PLC0415

        check_choice("engine", self.engine, running.ENGINES)
        if self.resume is not None:
            if self.out is not None or self.overwrite:
                raise SettingError(
                    "--resume continues a run in its own folder. Leave out --out and --overwrite, or start a new run "
                    "without --resume."
                )
            return running.resumed(self.resume, single(self.given))
        if self.out is not None:
            check_folder_early(self.out.absolute(), self.overwrite)
        requested = settings_from({**defaults, **with_paths(self.given)})
        settings = running.with_sites_of_data(requested)
        if "sites" in self.given and requested.sites != settings.sites:
            raise SettingError(
                f"--sites is {requested.sites}, but files or split give {settings.sites} sites. Leave --sites out."
            )
        running.check(settings)
        return settings

    def run(
        self, settings: Settings, audit: str = "", minutes: float = 0.0, also: Sequence[Path] = ()
    ) -> None:
        """Warn of the tables, train, audit if requested, and print the results."""
        from flower_pansvm.study.processes import exit_on_signals  # noqa: PLC0415
        from simulations import running  # noqa: PLC0415

        doubts = running.doubts_of(settings)
        for text in doubts:
            typer.echo(f"Warning: {text}", err=True)
        brief = self.command != "run"
        display = RunDisplay(quiet=self.quiet, brief=brief)
        opened = run_folder(self.resume or self.out, self.overwrite, new=self.resume is None)
        with exit_on_signals(), opened as folder, ExitStack() as shown:
            shown.enter_context(display)
            settings = replace(settings, out=str(folder), audit=bool(audit) or settings.audit)

            def finished(folder: Path) -> None:
                shown.close()
                # The run is over: who reads no further, as head does, has nothing to resume.
                display.offered = True
                self._print(folder, settings)

            how, before = audit or DEFAULT_AUDIT, _written(folder)
            try:
                running.run(
                    settings,
                    self.engine,
                    display.show,
                    audit=how,
                    minutes=minutes,
                    also=also,
                    doubts=doubts,
                    finished=finished,
                )
            except KeyboardInterrupt:
                self._print_resume_hint(folder, before)
                raise typer.Exit(STOPPED_BY_CTRL_C) from None
            except (EngineError, OSError, SystemExit):
                if not display.offered:
                    self._print_resume_hint(folder, before)
                raise
        _print_files(folder)

    @property
    def _engine_option(self) -> str:
        return "" if self.engine == DEFAULT_ENGINE else f" --engine {self.engine}"

    def _print_resume_hint(self, folder: Path, before: int) -> None:
        """Print how to resume a stopped run, if it has a checkpoint, or that it has ended: `_written` was another."""
        from strategies.federation.checkpoint import sums_in  # noqa: PLC0415

        if sums_in(folder):
            again = f"pansvm {self.command} --resume {shlex.quote(str(folder))}{self._engine_option}"
            typer.echo(f"Stopped. All complete steps are saved; continue with: {again}", err=True)
        elif _written(folder) != before:
            again = f"pansvm report {shlex.quote(str(folder))}"
            typer.echo(
                f"The training itself is over: model and figures are saved. For its report: {again}", err=True
            )
        else:
            typer.echo("Stopped before the first step was complete. Start the run again.", err=True)

    def _print(self, folder: Path, settings: Settings) -> None:
        """Print the choice of ``tune`` or ``select``, and the figures of the run."""
        result = read_result(folder)
        if self.command == "tune":
            from strategies.report.tuning import print_choice  # noqa: PLC0415

            # The printed command needs absolute paths.
            print_choice({**result, "config": settings.to_config()}, self._engine_option)
        if self.command == "select":
            from strategies.report.selecting import print_selection  # noqa: PLC0415

            print_selection(result, folder)
        _print_figures(folder)


def _written(folder: Path) -> int:
    """Return when the results in a folder were written, in nanoseconds; 0 without any."""
    file = folder / RESULT_FILE
    return file.stat().st_mtime_ns if file.exists() else 0


def with_paths(typed: Given) -> dict[str, str]:
    """Return the typed settings, with files and folders by their absolute paths.

    SettingError if one is typed twice, there is no such data set, or ``positive`` names no label.
    """
    from simulations.data.sites import join_data  # noqa: PLC0415 - takes seconds to import

    sources = typed.get("data", (Settings.data,))
    settings = single({key: values for key, values in typed.items() if key != "data"})
    if "positive" in settings and not settings["positive"].strip(", "):
        raise SettingError(
            "--positive names no label. Separate the positive labels by commas: --positive 1,2."
        )
    paths = {key: str(Path(settings[key]).absolute()) for key in ("schema", "data-dir") if settings.get(key)}
    return {**settings, **paths, "data": join_data(sources, settings.get("data-dir", ""))}


def _check_audit(audit: str, attack_minutes: float | None, audit_also: list[Path] | None) -> None:
    """Raise a SettingError if there is no such audit, or an option belongs to another one."""
    if audit:
        check_choice("audit", audit, AUDITS)
    for name, value in (("attack-minutes", attack_minutes), ("audit-also", audit_also)):
        if audit != "attack" and value:
            raise SettingError(f"--{name} is an option of --audit=attack. Give both, or neither.")


def _print_figures(folder: Path) -> None:
    """Print the figures of a run."""
    from strategies.report.page import headline  # noqa: PLC0415

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in headline(read_result(folder)).items():
        table.add_row(name, value)
    console = Console(highlight=False, soft_wrap=True, markup=False)
    console.print(table)
    for text in cautions_of(folder):
        console.print(text)


def _print_files(folder: Path) -> None:
    """Print the files of a run."""
    files = sorted(path.name for path in folder.iterdir() if path.is_file() and path.name[0] != ".")
    what = "Model, figures and report" if MODEL_FILE in files else "Figures and report"
    typer.echo(f"{what} are in {folder}: {', '.join(files)}")
