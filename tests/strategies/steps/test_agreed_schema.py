"""Whether all sites and the run keep to one schema file."""

from pathlib import Path

import pytest

from flower_pansvm.errors import SettingError
from flower_pansvm.table_schema import TableSchema
from strategies.steps.schema import agreed_schema

RANGES = "[columns.age]\nrange = [0, 120]\n"
CODES = RANGES + "missing = [-9]\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    for name, text in (("ranges.toml", RANGES), ("codes.toml", CODES)):
        (tmp_path / name).write_text(text)
    return str(tmp_path / "ranges.toml"), str(tmp_path / "codes.toml")


def digest(path: str) -> str:
    return TableSchema.read(Path(path)).digest


def test_all_have_the_same_or_none(files: tuple[str, str]) -> None:
    ranges, codes = files
    assert agreed_schema({"a": "", "b": ""}, "") is None
    # Public ranges and classes are the run's affair; what changes cells is the sites'.
    assert agreed_schema({"a": "", "b": ""}, ranges) is None
    found = agreed_schema({"a": digest(codes), "b": digest(codes)}, codes)
    assert found.columns[0].missing == ("-9",)


@pytest.mark.parametrize(
    ("sites", "run", "told"),
    [
        (("codes", "codes", ""), "", "Site 'c' has no schema file, but other sites have one"),
        (("", "codes", "codes"), "codes", "Site 'a' has no schema file, but the run has one"),
        (("", "", ""), "codes", "Site 'a' has no schema file, but the run has one"),
        (("", "", "ranges"), "ranges", "Site 'a' has no schema file, but the run has one"),
        (("codes", "ranges", "codes"), "", "file of site 'b' differs from most other sites'"),
        (("codes", "ranges", "codes"), "codes", "file of site 'b' differs from the run's"),
        (("codes", "codes", "codes"), "ranges", "file of site 'a' differs from the run's"),
        (("codes", "codes", "codes"), "", "the run does not name it"),
    ],
)
def test_who_differs_is_named(files: tuple[str, str], sites: tuple[str, ...], run: str, told: str) -> None:
    paths = {"": "", "ranges": files[0], "codes": files[1]}
    digests = {name: digest(paths[one]) if one else "" for name, one in zip("abc", sites, strict=True)}
    with pytest.raises(SettingError, match=told):
        agreed_schema(digests, paths[run])
