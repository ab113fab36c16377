"""``pansvm inspect`` and ``pansvm --version``."""

from pathlib import Path

import numpy as np

from flower_pansvm.kernels import Kernel
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from flower_pansvm.version import VERSION
from strategies.steps.feature_maps import fit_map
from tests.simulations.conftest import Run


def test_inspect_shows_what_a_model_is_made_of(pansvm: Run, tmp_path: Path) -> None:
    model = PanSVC.from_parts(
        Schema(("age", "[red]"), ("benign", "malignant")),
        Scaling(np.zeros(2), np.zeros(2), np.ones(2)),
        fit_map(Kernel("rbf", 0.5), np.array([[0.0, 1.0], [2.0, 3.0], [5.0, 8.0]])),
        np.arange(1.0, 5.0)[None],
    )
    model.save(tmp_path / "model.npz")
    code, out, err = pansvm("inspect", tmp_path / "model.npz")
    assert (code, err) == (0, "")
    shown = {line[:30].strip().split("  ")[0]: line for line in out.splitlines()}
    assert "pan-svc" in shown["kind"]
    assert "benign, malignant" in shown["classes"]
    assert "age, [red]" in shown["2 columns"]
    assert "3 x 2" in shown["landmarks"]
    assert model.sha256() in out.replace("\n", "").replace(" ", "")


def test_version(pansvm: Run) -> None:
    assert pansvm("--version") == (0, f"pansvm {VERSION}\n", "")
