"""The coordinator's commands: ``pansvm coordinator`` (invite hospitals, run the server, train) and ``report``."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from flower_pansvm.command_line import STOPPED_BY_CTRL_C, assignments, check_can_be_folder
from flower_pansvm.result_file import RESULT_FILE
from strategies.run_display import RunDisplay
from strategies.run_folder import cautions_of, run_folder

coordinator = typer.Typer(help="Run a study: init, invite, start, train.", no_args_is_help=True)

Folder = Annotated[Path, typer.Option(help="The coordinator's folder.")]
FOLDER = Path("coordinator")


@coordinator.command()
def init(
    address: Annotated[
        str, typer.Option(help="Address that hospitals connect to, such as coordinator.example.org:443.")
    ],
    folder: Folder = FOLDER,
    port: Annotated[int, typer.Option(help="Port of the SuperLink, on this machine only.")] = 8443,
) -> None:
    """Make the coordinator's key, a certificate authority and a server certificate."""
    from strategies.deployment.coordinator import Coordinator  # noqa: PLC0415

    study = Coordinator.make(folder, address, port)
    typer.echo(
        f"The coordinator's keys and configuration are in {study.folder}: keep that folder and back it up.\n"
        f"The SuperLink will listen on this machine only. In front of it, at {address}, run nginx with "
        f"{study.folder / 'nginx.conf'} (docs/deployment.md).\n"
        "When the hospitals' files have come: pansvm coordinator invite FILES --folder "
        + shlex.quote(str(study.folder))
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

    study = Coordinator.load(folder)
    registrations = [Registration.read(file) for file in files]
    invitation = study.invite(registrations, dict(assignments(set_ or [])), schema, renew=renew)
    typer.echo("Compare each code with the hospital's by telephone, before you send the invitation:")
    for registration in registrations:
        typer.echo(f"  {registration.name}: {registration.code}")
    typer.echo(
        f"The hospitals agree to a run at level {invitation.privacy}: "
        + ", ".join(f"{key}={value}" for key, value in invitation.settings.items())
        + "\n"
        f"They run flower-pansvm {invitation.software['version']}, hash: {invitation.software['hash']}\n"
        f"Send to all of them: {study.folder / INVITATION_FILE}\n"
        f"Its code, which you read to the first hospital by telephone: {invitation.code}\n"
        f"Then: pansvm coordinator start --folder {shlex.quote(str(study.folder))}"
    )


@coordinator.command()
def start(
    folder: Folder = FOLDER,
    shared_machine: Annotated[
        bool, typer.Option("--shared-machine", help="Not on Linux: trust other accounts here.")
    ] = False,
) -> None:
    """Run the SuperLink for the invited hospitals in the foreground; Ctrl-C ends it."""
    from flower_pansvm.study.log_lines import say  # noqa: PLC0415
    from strategies.deployment.accounts import check_alone  # noqa: PLC0415
    from strategies.deployment.coordinator import Coordinator  # noqa: PLC0415
    from strategies.deployment.server import run_superlink  # noqa: PLC0415

    study = Coordinator.load(folder)
    check_alone(shared_machine)
    run_superlink(study, say)


@coordinator.command()
def train(
    out: Annotated[Path, typer.Option(help="Folder for the results.")],
    folder: Folder = FOLDER,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint in --out.")] = False,
) -> None:
    """Train with the hospitals under the settings of the invitation."""
    from flower_pansvm.study.handout import FILE  # noqa: PLC0415
    from strategies.deployment.coordinator import Coordinator  # noqa: PLC0415
    from strategies.deployment.superlink import train  # noqa: PLC0415
    from strategies.federation.checkpoint import config_before, sums_in  # noqa: PLC0415
    from strategies.report.page import write_report  # noqa: PLC0415

    out, study = out.expanduser().absolute(), Coordinator.load(folder)
    check_can_be_folder(out)
    # The disk may have been full, or this command ended, after the training.
    finished = resume and (out / RESULT_FILE).exists() and not sums_in(out)
    if resume and not finished:
        config_before(out)
    with run_folder(out, None, "the same command with --resume", new=not resume):
        if finished:
            (out / FILE).unlink(missing_ok=True)
        with RunDisplay() as display:
            try:
                if not finished:
                    train(study, out, display.show, resume=resume)
            except KeyboardInterrupt:
                raise typer.Exit(STOPPED_BY_CTRL_C) from None
        study.hand_out(out, out / FILE)
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
