"""Every secure sum gives the very same model: with curvature, folds and many problems."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from simulations.engines.running import train_in_process
from strategies.settings import make_settings

RING = {"aggregation": "ring"}
K_SECURE_HOPS = {"aggregation": "k-secure-hops", "k": 2}
OTHERS = [
    {"aggregation": "plain"},
    {"aggregation": "ring-hops"},
    {"aggregation": "k-secure"},
    K_SECURE_HOPS,
]
PAILLIER = {"aggregation": "paillier"}
JOBS: dict[str, dict[str, Any]] = {
    "pairs of classes": {
        "multi_class": "ovo",
        "class_weight": "balanced",
        "probability": True,
        "cv_folds": 2,
    },
    "one versus all": {"tol": 1e-3},
    "exact sums": {"privacy": "exact"},
    "published search": {"search": "published", "privacy": "exact"},
}


@pytest.fixture(scope="module")
def sha256(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Return a function that trains on a small table of three classes and returns the model's digest."""
    X, y = make_blobs(70, centers=3, cluster_std=2.0, random_state=0)
    path = tmp_path_factory.mktemp("protocols") / "table.csv"
    pd.DataFrame(X * [1.0, 1e-3], columns=["a", "b"]).assign(label=y).to_csv(path, index=False)
    usual: dict[str, Any] = {"data": str(path), "sites": 4, "landmarks": "6", "min_cluster": 2, "tol": 0.5}

    def train(**config: Any) -> str:
        return train_in_process(make_settings(**{**usual, **config})).model.sha256()

    return train


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS)
def test_every_protocol_gives_the_same_model_whatever_the_job(job: str, sha256: Callable[..., str]) -> None:
    models = {sha256(**protocol, **JOBS[job]) for protocol in (RING, *OTHERS, PAILLIER)}
    assert len(models) == 1
