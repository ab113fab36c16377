"""One secure sum beside Flower's legacy SecAgg+: ``python -m simulations.benchmarks.secagg_plus --out DIR``.

Starts Flower's simulation engine once for each number of sites and writes ``secagg-plus.md`` and
``secagg-plus.json``, with the seconds of every single sum.
"""

import json
import statistics
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any

import tomli_w
import typer

from simulations.benchmarks import flower_app
from simulations.engines.flower_engine import PACKAGES, build_app, run_app, temporary_folder
from simulations.markdown import machine, markdown
from strategies.pan_svm_settings import PanSvmSettings

SITES = (5, 10)
LONGEST_SECONDS = 300.0
ROOMS = Path(__file__).parents[2]
COMPONENTS = {
    "serverapp": "simulations.benchmarks.flower_app:server",
    "clientapp": "simulations.benchmarks.flower_app:client",
}


def main(out: Annotated[Path, typer.Option(help="Folder for the figures.")]) -> None:
    """Measure one secure sum beside one of Flower's legacy SecAgg+."""
    out.mkdir(parents=True, exist_ok=True)
    measured = {sites: measure(sites) for sites in SITES}
    (out / "secagg-plus.json").write_text(json.dumps(measured), encoding="utf-8")
    rows = [row for sites, figures in measured.items() for row in _rows(sites, figures)]
    header = ["way", "sites", "median, ms", "fastest, ms", "slowest, ms", "to ours", "largest error"]
    title = f"One sum of {flower_app.VALUES:,} values on Flower's simulation engine:"
    text = "\n".join([machine(), "", title, "", markdown(header, rows)])
    (out / "secagg-plus.md").write_text(text, encoding="utf-8")
    sys.stderr.write(f"The figures are in {out}: secagg-plus.md, secagg-plus.json\n")


def measure(sites: int) -> dict[str, dict[str, Any]]:
    """Run the app with a number of sites and return what it measured.

    Returns
    -------
    dict
        ``seconds``, for each way those of each sum; ``errors``, for each way the largest.

    Raises
    ------
    EngineError
        If the run fails.
    """
    with temporary_folder() as folder:
        settings = PanSvmSettings(sites=sites, out=str(folder))
        build_app(folder / "app", [ROOMS / name for name in PACKAGES], settings.to_config())
        project = folder / "app" / "pyproject.toml"
        content = tomllib.loads(project.read_text(encoding="utf-8"))
        content["tool"]["flwr"]["app"]["components"] = COMPONENTS
        project.write_text(tomli_w.dumps(content), encoding="utf-8")
        run_app(folder, sites, lambda _: None, LONGEST_SECONDS)
        figures: dict[str, dict[str, Any]] = json.loads((folder / flower_app.RESULT_FILE).read_text())
    return figures


def _rows(sites: int, figures: dict[str, dict[str, Any]]) -> list[list[str]]:
    # The first sum of each way starts the workers and imports their code.
    seconds = {way: times[1:] for way, times in figures["seconds"].items()}
    ours = statistics.median(seconds[flower_app.OURS])
    return [
        [
            way,
            str(sites),
            *(f"{1000 * figure:.0f}" for figure in (statistics.median(times), min(times), max(times))),
            f"{statistics.median(times) / ours:.1f}",
            f"{figures['errors'][way]:.1g}",
        ]
        for way, times in seconds.items()
    ]


if __name__ == "__main__":
    typer.run(main)
