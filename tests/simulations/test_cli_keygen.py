"""``pansvm keygen``: what a hospital's administrator types once."""

import json
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from flower_pansvm.secure_sum.identities import load_identity, read_roster
from flower_pansvm.secure_sum.new_identity import public_identity

Run = Callable[..., tuple[int, str, str]]
BEFORE_LINE = "line for the roster file: "


@pytest.fixture
def keygen(pansvm: Run) -> Run:
    """Return a function that runs ``pansvm keygen`` in a folder of its own."""
    return partial(pansvm, "keygen")


def line_of(out: str) -> str:
    (line,) = (line for line in out.splitlines() if line.startswith(BEFORE_LINE))
    return line.removeprefix(BEFORE_LINE)


def test_the_printed_lines_make_a_roster_that_knows_the_identities(keygen: Run, tmp_path: Path) -> None:
    lines = []
    for file in ("hospital-a.pem", "hospital-b.pem"):
        code, out, err = keygen(file)
        assert (code, err) == (0, "")
        public = public_identity(load_identity(tmp_path / file))
        assert f"public identity: {public}" in out
        assert f"identity='{tmp_path / file}'" in out
        lines.append(line_of(out))
    (tmp_path / "roster.json").write_text("{" + ",\n".join(lines) + "}")
    roster = read_roster(tmp_path / "roster.json")
    assert list(roster) == ["hospital-a", "hospital-b"]
    for name, key in roster.items():
        assert key.public_bytes_raw().hex() == public_identity(load_identity(tmp_path / f"{name}.pem"))


def test_the_site_may_have_a_name_of_its_own(keygen: Run) -> None:
    _, out, _ = keygen("identity.pem", "--name", 'Heart "Centre"')
    assert list(json.loads("{" + line_of(out) + "}")) == ['Heart "Centre"']


def test_the_private_half_is_in_the_file_only_and_readable_for_its_owner_only(
    keygen: Run, tmp_path: Path
) -> None:
    _, out, _ = keygen("identity.pem")
    assert stat.S_IMODE((tmp_path / "identity.pem").stat().st_mode) == 0o600
    assert load_identity(tmp_path / "identity.pem").private_bytes_raw().hex() not in out
    assert "PRIVATE" not in out
