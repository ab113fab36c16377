"""The coordinator's commands: ``pansvm coordinator`` invites hospitals, runs the server and trains; ``report``."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from flower_pansvm.command_line import STOPPED_BY_CTRL_C, assignments, check_can_be_folder
from strategies.run_display import RunDisplay
from strategies.run_folder import cautions_of, run_folder

coordinator = typer.Typer(help="Run a study: init, invite, start, train.", no_args_is_help=True)

Folder = Annotated[Path, typer.Option(help="The coordinator's folder.")]
FOLDER = Path("coordinator")


@coordinator.command()
def init(
    address: Annotated[
        str, typer.Option(help="Where hospitals connect to, such as coordinator.example.org:443.")
    ],
    folder: Folder = FOLDER,
    port: Annotated[int, typer.Option(help="Where the SuperLink listens, on this machine only.")] = 8443,
) -> None:
    """Make the coordinator's key, a certificate authority and a server certificate."""
    from strategies.deployment.coordinator import Coordinator  # noqa: PLC0415

    made = Coordinator.make(folder, address, port)
    typer.echo(f"Everything of the coordinator is in {made.folder}: keep that folder and back it up.")
    typer.echo(
        f"The SuperLink will listen on this machine only. In front of it, at {address}, runs nginx with "
        f"{made.folder / 'nginx.conf'} (docs/deployment.md).\n"
        f"When the hospitals' files have come: pansvm coordinator invite FILES --folder {shlex.quote(str(made.folder))}"
    )


@coordinator.command()
def invite(
    files: Annotated[list[Path], typer.Argument(help="The hospitals' registration files, all of them.")],
    folder: Folder = FOLDER,
    schema: Annotated[Path | None, typer.Option(help="The schema file of the tables.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting that the hospitals agree to."),
    ] = None,
    renew: Annotated[bool, typer.Option("--renew", help="Replace an earlier invitation.")] = False,
) -> None:
    """Read the hospitals' files, and write and sign the one invitation for all of them."""
    from flower_pansvm.study.invitation import INVITATION_FILE  # noqa: PLC0415
    from flower_pansvm.study.registration import Registration  # noqa: PLC0415
    from strategies.deployment.coordinator import Coordinator  # noqa: PLC0415

    own = Coordinator.load(folder)
    registrations = [Registration.read(file) for file in files]
    made = own.invite(registrations, dict(assignments(set_ or [])), schema, renew=renew)
    typer.echo("Compare each code with the hospital's own, by telephone, before you send the invitation:")
    for one in registrations:
        typer.echo(f"  {one.name}: {one.code}")
    typer.echo(
        f"The hospitals agree to a run at level {made.privacy}: "
        + ", ".join(f"{key}={value}" for key, value in made.settings.items())
        + "\n"
        f"They run flower-pansvm {made.software['version']}, hash: {made.software['hash']}\n"
        f"Send to all of them: {own.folder / INVITATION_FILE}\n"
        f"Its code, to be read out to the first of them by telephone: {made.code}\n"
        f"Then: pansvm coordinator start --folder {shlex.quote(str(own.folder))}"
    )


@coordinator.command()
def start(
    folder: Folder = FOLDER,
    shared_machine: Annotated[
        bool, typer.Option("--shared-machine", help="Not on Linux: trust other accounts here.")
    ] = False,
) -> None:
    """Run the SuperLink in the foreground and let the invited hospitals in; Ctrl-C ends it."""
    from flower_pansvm.study.log_lines import say  # noqa: PLC0415
    from strategies.deployment.accounts import check_alone  # noqa: PLC0415
    from strategies.deployment.coordinator import Coordinator  # noqa: PLC0415
    from strategies.deployment.server import run_superlink  # noqa: PLC0415

    own = Coordinator.load(folder)
    check_alone(shared_machine)
    run_superlink(own, say)


@coordinator.command()
def train(
    out: Annotated[Path, typer.Option(help="Folder for the results.")],
    folder: Folder = FOLDER,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint in --out.")] = False,
) -> None:
    """Train with the hospitals as the invitation says."""
    from flower_pansvm.study.handout import FILE  # noqa: PLC0415
    from strategies.deployment.coordinator import Coordinator  # noqa: PLC0415
    from strategies.deployment.outcome import hand_out  # noqa: PLC0415
    from strategies.deployment.superlink import train  # noqa: PLC0415
    from strategies.federation.checkpoint import config_before  # noqa: PLC0415
    from strategies.report.page import write_report  # noqa: PLC0415

    out, own = out.expanduser().absolute(), Coordinator.load(folder)
    check_can_be_folder(out)
    if resume:
        config_before(out)
    with run_folder(out, None, "the same command with --resume", new=not resume):
        with RunDisplay() as display:
            try:
                train(own, out, display.show, resume=resume)
            except KeyboardInterrupt:
                raise typer.Exit(STOPPED_BY_CTRL_C) from None
        hand_out(out, own, out / FILE)
        report = write_report(out)
    for text in cautions_of(out):
        typer.echo(text)
    typer.echo(
        f"Model, figures and report are in {out}; the report is {report}\n"
        f"Send to the hospitals: {out / FILE}; there: pansvm hospital results {FILE} --out DIR"
    )


def report(folder: Annotated[Path, typer.Argument(help="Folder of a run, with its result.json.")]) -> None:
    """Write report.html again from a run's result.json."""
    from strategies.report.page import write_report  # noqa: PLC0415

    typer.echo(f"The report is in {write_report(folder)}")
