"""Runs of comparisons and reproductions without processes of their own."""

import pytest


@pytest.fixture
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the runs of a comparison or reproduction no processes of their own: each takes seconds to start."""
    from simulations.comparison.workers import attempt  # noqa: PLC0415

    monkeypatch.setattr(
        "simulations.comparison.cluster.run_each",
        lambda works, _, run: ((work, attempt(run, work)) for work in works),
    )
