"""Tries faults for real, one study after another, and says for each whether it ended as docs/faults.md has it."""

import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Annotated

import typer

from flower_pansvm.setting_values import check_choice
from simulations.benchmarks.faults import at_start, in_a_run, storage
from simulations.deployment.files import new_folder
from simulations.engines.processes import exit_on_signals

FAULTS = {**at_start.FAULTS, **in_a_run.FAULTS, **storage.FAULTS}


def main(
    out: Annotated[Path, typer.Option(help="New folder for the studies and their logs.")],
    only: Annotated[str, typer.Option(help="Faults to try, by commas; all if not given.")] = "",
) -> None:
    """Try faults; exit code 1 if one of them ended otherwise than expected."""
    names = only.split(",") if only else list(FAULTS)
    for name in names:
        check_choice("only", name, FAULTS)
    # A shell lets what it runs in the background ignore Ctrl-C, and so would what is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder, failed = new_folder(out), []
    for name in names:
        began = time.monotonic()
        sys.stderr.write(f"\n== {name}: {FAULTS[name].__doc__}\n")
        try:
            with exit_on_signals():
                for line in FAULTS[name](folder / name):
                    sys.stderr.write(f"   {line}\n")
        except (AssertionError, TimeoutError):
            failed.append(name)
            sys.stderr.write(traceback.format_exc())
        sys.stderr.write(f"   {time.monotonic() - began:.0f} s\n")
    sys.stderr.write(f"\nOtherwise than expected: {', '.join(failed) or 'none'}\n")
    sys.exit(bool(failed))


if __name__ == "__main__":
    typer.run(main)
