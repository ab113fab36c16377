"""Whole selections on real and on generated data: round trips, bytes, accuracy, and whether they find what matters."""

from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import make_classification

from simulations.engines.in_process import train_in_process
from strategies.selection.elimination import Elimination
from strategies.settings import make_settings

pytestmark = pytest.mark.slow


def selected(**config: object) -> Elimination:
    strategy = train_in_process(make_settings(**config))  # type: ignore[arg-type]
    assert isinstance(strategy, Elimination)
    return strategy


@pytest.mark.parametrize(
    ("data", "strategy"),
    [("diabetes", "voted-wrapper"), ("diabetes", "filter-wrapper")],
)
def test_round_trips_per_feature_and_accuracy_after_the_selection(
    data: str, strategy: str, shared_data: Path
) -> None:
    found = selected(data=data, data_dir=str(shared_data), strategy=strategy, step="1")
    removed = sum(len(step.removed) for step in found.selection.steps)
    assert found.federation.costs.round_trips <= 25 * removed
    accuracies = {point.features: point.accuracy for point in found.selection.points}
    # What the filters leave out they leave out whatever the accuracy.
    lost = 0.01 if strategy == "filter-wrapper" else 0.0
    assert accuracies[len(found.selection.selected)] >= found.selection.points[0].accuracy - lost


def test_a_step_of_thousands_of_genes_sends_a_few_megabytes(shared_data: Path) -> None:
    found = selected(
        data="dlbcl",
        data_dir=str(shared_data),
        privacy="exact",
        strategy="voted-wrapper",
        min_cluster=1,
        landmarks="0.25",
        step="10:0.4,1",
        C=2.0,
    )
    sites = len(found.federation.sites)
    assert max(step.bytes_up / sites for step in found.selection.steps) < 4e6
    # On 38 rows; 90 to 100 % over five seeds.
    assert max(point.accuracy for point in found.selection.points) > 0.85
    left = found.federation.costs.disclosed()
    assert {entry["task"] for entry in left if entry["how"] == "disclosed"} == {"join"}


def test_generated_noise_is_found_out(tmp_path: Path) -> None:
    # Ten informative features, ten combinations of them, and thirty of noise.
    X, y = make_classification(
        800, 50, n_informative=10, n_redundant=10, class_sep=1.5, shuffle=False, random_state=2
    )
    table = pd.DataFrame(X, columns=[f"x{number}" for number in range(50)]).assign(label=y)
    table.to_csv(tmp_path / "generated.csv", index=False)
    data = str(tmp_path / "generated.csv")
    found = selected(
        data=data, strategy="voted-wrapper", seed=2, C=0.25, step="1", test_fraction=0.0
    ).selection
    accuracies = {point.features: point.accuracy for point in found.points}
    assert accuracies[len(found.selected)] > accuracies[50]
    assert sum(feature < 20 for feature in found.ranking[:15]) >= 12
