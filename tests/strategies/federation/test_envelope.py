"""What a message of a secure sum carries does not grow with the number of sites, but for the first one."""

from pathlib import Path

import numpy as np
import pandas as pd

from flower_pansvm.systems.scaling import MOMENTS, ROWS
from flower_pansvm.tasks import Nothing
from strategies.settings import make_settings
from tests.strategies.conftest import joined


def sent_to_a_site(table: Path, sites: int) -> list[int]:
    """Return the bytes that each site gets with the first sum of a run, with the second, and with the third."""
    settings = make_settings(data=str(table), sites=sites)
    federation = joined(settings)
    found = []
    for task in (MOMENTS, ROWS, ROWS):
        before = federation.costs.bytes_down
        federation.secure_sum(task, Nothing())
        found.append((federation.costs.bytes_down - before) // sites)
    return found


def test_the_keys_of_all_sites_travel_once(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((800, 2))
    table = tmp_path / "rows.csv"
    pd.DataFrame(X, columns=["a", "b"]).assign(label=(X[:, 0] > 0).astype(int)).to_csv(table, index=False)
    few, many = sent_to_a_site(table, 4), sent_to_a_site(table, 40)
    assert few[2] == many[2]
    assert many[1] - few[1] < 100  # the first site's notes to all others
    assert 36 * 32 < many[0] - few[0] < 36 * 200  # a key, a name and the lengths of a site more
