"""Tables of Markdown."""

from collections.abc import Iterable, Sequence

import pandas as pd


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]], align: str = "---:") -> str:
    """Return a Markdown table; the first column is left-aligned, the others by default right-aligned."""
    lines = [header, ["---", *[align] * (len(header) - 1)], *rows]
    cells = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def table_of(header: Sequence[str], frame: pd.DataFrame, *formats: str) -> str:
    """Return a table with the index as its first column; ``formats`` is one for all columns, or one each."""
    each = formats if len(formats) > 1 else formats * frame.shape[1]
    lines = (
        [
            str(name),
            *("" if pd.isna(cell) else form.format(cell) for form, cell in zip(each, line, strict=True)),
        ]
        for name, line in zip(frame.index, frame.itertuples(index=False), strict=True)
    )
    return markdown(header, lines)
