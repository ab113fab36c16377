"""What a hospital runs: ``pansvm hospital``, which joins a study in three steps, and ``budget``."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import click
import typer
from typer.core import TyperCommand

from clients.deployment.own_folder import own_folder
from flower_pansvm.command_line import command
from flower_pansvm.errors import PanSVMError, SettingError

hospital = typer.Typer(help="Join a study: init, accept, start; then: status.", no_args_is_help=True)

# That it can be read is said by the command, in its own words and with its own exit code.
NewFolder = Annotated[Path, typer.Option(help="The hospital's folder.", readable=False)]
Folder = Annotated[Path, typer.Option(help="The hospital's folder.", readable=False, callback=own_folder)]
FOLDER = Path("hospital")

UNKNOWN = 3
"""The exit code for monitoring that says that nothing is known; the usual one of a mistaken option says: critical."""

PANSVM = (sys.executable, "-P", "-m", "flower_pansvm")


@hospital.command()
def init(
    name: Annotated[str, typer.Option(help="What this hospital is called in the study.")],
    data: Annotated[str, typer.Option(help="Its table: a file (docs/tables.md).")],
    label: Annotated[str | None, typer.Option(help="Label column; 'label' if not given.")] = None,
    folder: NewFolder = FOLDER,
    epsilon: Annotated[float, typer.Option(help="Budget of the table for all runs together.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Delta of that budget.")] = 1e-5,
    test_fraction: Annotated[
        float, typer.Option(help="Share of the rows kept for evaluation in all runs.")
    ] = 0.2,
    privacy: Annotated[
        str, typer.Option(help="Weakest level it takes part in: dp, perturbed or exact.")
    ] = "dp",
    noise: Annotated[float, typer.Option(help="Least noise of level perturbed: 0.25, 0.5 or 1.")] = 0.5,
) -> None:
    """Make keys, identity, node config and service files, and the one file to hand over to the coordinator."""
    from clients.deployment.hospital import make_hospital  # noqa: PLC0415

    file, registration = make_hospital(
        folder,
        name,
        data,
        label,
        epsilon=epsilon,
        delta=delta,
        test_fraction=test_fraction,
        privacy=privacy,
        noise=noise,
    )
    typer.echo(
        f"Everything of '{name}' is in {file.parent}: keep that folder and back it up; nothing of it but the next file "
        "is for others. What this hospital agrees to is in node.toml.\n\n"
        f"1. Hand over to the coordinator: {file}\n"
        f"   Its code, to be read out by telephone: {registration.code}\n"
        f"2. When the invitation comes: pansvm hospital accept INVITATION --folder {shlex.quote(str(file.parent))}\n"
        f"3. Then: pansvm hospital start --folder {shlex.quote(str(file.parent))}"
    )
    if os.getuid() == 0:
        typer.echo(
            "warning: you are root, and the SuperNode, whose unit is in the folder, would run as root. Better make an "
            "account for it, and run this command again in that, with another --folder."
        )


@hospital.command()
def accept(
    invitation: Annotated[Path, typer.Argument(help="The coordinator's invitation.json.")],
    code: Annotated[
        str | None,
        typer.Option(
            help="The invitation's code, as another hospital or the coordinator reads it out by telephone.",
            show_default="asked for",
        ),
    ] = None,
    folder: Folder = FOLDER,
) -> None:
    """Check the coordinator's invitation, and take in whom this hospital trusts by it."""
    from clients.deployment import hospital as deployed  # noqa: PLC0415
    from flower_pansvm.study.invitation import Invitation  # noqa: PLC0415

    read = Invitation.read(invitation)
    deployed.check_invited(read, deployed.own_registration(folder))
    deployed.check_software(read)
    if code is None:
        try:
            code = typer.prompt(
                "Ask another hospital by telephone for its invitation's code (the first one asks the coordinator). Code"
            )
        except click.Abort:  # as of a script, too
            raise SettingError(
                "No code was typed, so nothing is accepted. Where nobody can type, give it as --code."
            ) from None
    accepted = deployed.accept(folder, invitation, code)
    typer.echo(
        f"Invitation {accepted.number} of the coordinator at {accepted.address} is accepted, with "
        f"{', '.join(accepted.roster)}.\nnode.toml has min-sites and k for this number of hospitals: a run that loses "
        "one of them ends. Lower min-sites there only if the hospital agrees.\n"
        f"Now: pansvm hospital start --folder {shlex.quote(str(folder))}"
    )


@hospital.command()
def results(
    file: Annotated[Path, typer.Argument(help="The coordinator's for-hospitals.json.")],
    out: Annotated[Path, typer.Option(help="New folder for model, figures and report.")],
    folder: Folder = FOLDER,
) -> None:
    """Take in what the coordinator hands out after a run: model and figures, checked; the report is made here."""
    from clients.deployment.outcome import receive  # noqa: PLC0415

    kept = receive(folder, file, out)
    typer.echo(f"Signed by the coordinator. The model and its figures are in {kept}.")
    # In a process of its own: the report is made by what a coordinator runs, and nothing of that is loaded here.
    raise typer.Exit(subprocess.run([*PANSVM, "report", str(kept)], check=False).returncode)


@hospital.command()
def check(
    folder: Folder = FOLDER, for_log: Annotated[bool, typer.Option("--for-log", hidden=True)] = False
) -> None:
    """Check everything that start checks before it connects, and send nothing."""
    from clients.deployment.checks import check_hospital  # noqa: PLC0415
    from clients.deployment.status import disks  # noqa: PLC0415

    for disk in disks(folder):
        typer.echo(f"warning: {disk.name}: {disk.text}")
    warned = False
    for line in check_hospital(folder):
        of_table = line.startswith("warning: ")
        warned |= of_table
        if not (of_table and for_log):
            typer.echo(line if of_table or line.startswith("note: ") else f"ok  {line}")
    if warned and for_log:  # they may show what cells hold, and a log is kept and read by others
        typer.echo(
            "warning: the table has warnings, which are no matter of a log. See: pansvm hospital check"
        )


@hospital.command()
def start(folder: Folder = FOLDER) -> None:
    """Check everything, then run the SuperNode in the foreground; Ctrl-C ends it."""
    from clients.deployment.hospital import accepted  # noqa: PLC0415
    from clients.deployment.supernode import run_supernode, running_alone  # noqa: PLC0415
    from flower_pansvm.study.connection import wait_for_coordinator  # noqa: PLC0415
    from flower_pansvm.study.log_lines import say  # noqa: PLC0415

    # A process of its own: this one waits for months, and should not keep what it takes to read a table in memory.
    command = [*PANSVM, "hospital", "check", "--for-log", "--folder", str(folder)]
    checked = subprocess.run(command, check=False)
    if checked.returncode != 0:
        raise typer.Exit(checked.returncode)
    invitation = accepted(folder)
    with running_alone(folder):
        wait_for_coordinator(invitation.address, invitation.authority, say)
        say(
            f"ok  the server at {invitation.address} is the coordinator's\nThe SuperNode starts; Ctrl-C ends it."
        )
        run_supernode(folder, say)


class Monitoring(TyperCommand):
    """A command whose exit codes are those of Nagios' plugins, of a mistaken option, too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.show()
        except (PanSVMError, OSError) as error:  # of the folder
            typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(UNKNOWN)


@hospital.command(cls=Monitoring)
def status(
    folder: Folder = FOLDER,
    json_: Annotated[bool, typer.Option("--json", help="As JSON, for a program.")] = False,
) -> None:
    """Say how this hospital's SuperNode is; exit code 0 in order, 1 warning, 2 critical, 3 no hospital's folder."""
    from clients.deployment.status import status_of  # noqa: PLC0415

    try:
        lines = status_of(folder)
    except (PanSVMError, OSError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(UNKNOWN) from None
    code = max(line.code for line in lines)
    if json_:
        typer.echo(json.dumps({"code": code, **{line.name: line.text for line in lines}}, ensure_ascii=False))
    else:
        for line in lines:
            typer.echo(f"{('ok', 'warning', 'critical')[line.code]:<9} {line.name}: {line.text}")
    raise typer.Exit(code)


@hospital.command()
def runs(folder: Folder = FOLDER) -> None:
    """List the runs that this hospital was asked for: when, which system and level, approved and begun how often."""
    from clients.deployment.approvals import when  # noqa: PLC0415
    from clients.deployment.hospital import state_of  # noqa: PLC0415
    from clients.runs import read_runs  # noqa: PLC0415

    log = read_runs(state_of(folder))
    line = "{:<12}{:<18}{:<18}{:<11}{:>9}{:>7}  {}".format
    typer.echo(line("run", "asked for last", "system", "level", "approved", "begun", "last begun"))
    for run in sorted(log.values(), key=lambda run: run.asked):
        last = when(run.begun[-1]) if run.begun else ""
        typer.echo(
            line(run.code, when(run.asked), run.system, run.level, len(run.approved), len(run.begun), last)
        )


@hospital.command()
def approve(
    code: Annotated[
        str, typer.Argument(help="The run's code, as the refusal and `pansvm hospital runs` show it.")
    ],
    folder: Folder = FOLDER,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Show what a run asks for and what it may charge, and let it begin, once."""
    from clients.deployment.approvals import approve_run, check_waits, find_run, largest_charge, who_asks  # noqa: PLC0415
    from clients.deployment.hospital import state_of  # noqa: PLC0415
    from clients.deployment.status import budget_line  # noqa: PLC0415
    from clients.node.node_config import read_node_config  # noqa: PLC0415
    from clients.policy import policy_of  # noqa: PLC0415
    from clients.runs import OWN_WEIGHTS, SYSTEM_FILES, read_runs  # noqa: PLC0415

    state, node = state_of(folder), read_node_config(folder)
    approval = policy_of(node, str(node.get("name", ""))).approval
    log = read_runs(state)
    run = find_run(log, code)
    check_waits(run, log, approval)
    for key, value in run.settings.items():
        typer.echo(f"  {key} = {value}")
    typer.echo(
        f"Run {run.code}: {run.system} at level {run.level}, with the settings above.\n"
        + (
            ""
            if run.system in SYSTEM_FILES
            else "This software has no such system: the run may ask for all tasks.\n"
        )
        + f"Who asks: {who_asks(folder, run)}.\n"
        f"It may charge {largest_charge(run, pure=OWN_WEIGHTS in node)}. Budget: {budget_line(folder, node).text}."
    )
    if not yes:
        typer.confirm("Let this run begin, once?", abort=True)
    approve_run(state, code, approval)
    typer.echo("Approved. The coordinator starts the same run again.")


@command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
)
def budget(context: typer.Context) -> None:
    """Show the privacy budget of a hospital's table, begin one, or end it."""
    # Of the hospital's own part, which it audits; there it is started with: python -m clients.budget
    from clients.budget import main  # noqa: PLC0415

    main(context.args)
