"""The papers' data sets are known by their cells."""

import gzip
from pathlib import Path

import pandas as pd
import pytest
import typer

from flower_pansvm.errors import SettingError
from simulations.data.datasets import locate
from simulations.data.sets import OTHER, digest, main, public_sets, verdict


def frame(*columns: list[object]) -> pd.DataFrame:
    return pd.DataFrame({f"c{place}": column for place, column in enumerate(columns)})


def test_numbers_count_and_not_how_they_are_written() -> None:
    typed = digest(frame([1.0, 0.5, None], [1, -1, 0]))
    assert digest(frame(["1", "0.50", None], ["+1", "-1.0", "-0"])) == typed
    assert digest(frame(["1", "0.5", None], ["1", "-1", "1"])) != typed
    assert digest(frame(["0.5", "1", None], ["1", "-1", "0"])) != typed


def test_texts_count() -> None:
    assert digest(frame(["a", "b"])) != digest(frame(["a", "c"]))


def test_an_empty_folder_has_none_and_each_line_says_where_it_is_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(public_sets())
    for line, (name, one) in zip(lines, public_sets().items(), strict=True):
        assert line.startswith(f"{name}: not there")
        assert one.source in line


def test_other_cells_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with gzip.open(tmp_path / "colon.csv.gz", "wt") as stream:
        stream.write("f1,label\n1,n\n2,t\n")
    (tmp_path / "dlbcl.csv.gz").write_bytes(b"not packed")
    with pytest.raises(typer.Exit):
        main(tmp_path)
    lines = [line for line in capsys.readouterr().out.splitlines() if OTHER in line]
    assert [line.partition(":")[0] for line in lines] == ["colon", "dlbcl"]
    assert public_sets()["colon"].size in lines[0]


def test_a_missing_set_is_told_with_its_source(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="datamicroarray"):
        locate("colon", tmp_path)
    with pytest.raises(SettingError, match=r"comparing\.md"):
        locate("hart", tmp_path)


@pytest.mark.parametrize("name", ["colon", "dlbcl", "leukemia_labels", "heart-va", "splice"])
def test_the_benchmark_data_are_the_papers(shared_data: Path, name: str) -> None:
    assert verdict(shared_data, name) == f"{name}: the same cells"
