"""Files that are whole or as they were before."""

import errno
from pathlib import Path

import pytest

from flower_pansvm.files import complete_file, write


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_whoever_writes_the_error_names_the_file_and_nothing_is_left(number: int, tmp_path: Path) -> None:
    """An error of pandas or NumPy names none, and one in opening names the unfinished file."""
    path = tmp_path / "table.csv"
    write(path, "before")

    def fill(unfinished: Path) -> None:
        unfinished.write_bytes(b"half of")
        raise OSError(number, "No room")

    with pytest.raises(OSError, match="No room") as failed, complete_file(path, overwrite=True) as unfinished:
        fill(unfinished)
    assert failed.value.filename == str(path)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"table.csv": "before"}
