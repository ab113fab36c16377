"""Tables of Markdown."""

from collections.abc import Iterable, Sequence


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]], align: str = "---:") -> str:
    """Return a Markdown table; the first column is left-aligned, the others as ``align`` says, which is right."""
    lines = [header, ["---", *[align] * (len(header) - 1)], *rows]
    cells = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"
