"""A finding of ``pansvm check``: how bad it is, and a text that shows of cells only what may be a code, and classes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from clients.table.table import columns_text

ERROR, WARNING, NOTE = "error", "warning", "note"

MOST_ALIKE = 3
"""Columns of which the same is said one by one; of more, it is said once."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a table (``error``: it cannot take part), may be, or is worth knowing."""

    level: str
    text: str


warning, note = (partial(Finding, level) for level in (WARNING, NOTE))
"""Findings of these levels, by their texts."""


@dataclass(frozen=True)
class ColumnFinding:
    """The same of one column: what it is, what to do, which is the same for all such columns, and by how much."""

    level: str
    name: str
    what: str
    remedy: str
    how_much: str = ""

    @property
    def text(self) -> str:
        """The paragraph of a column alone."""
        return f"Column '{self.name}' {self.what}{self.how_much}. {self.remedy}"


def grouped(findings: Sequence[ColumnFinding]) -> Iterator[Finding]:
    """Return the findings about columns, those that many columns share as one."""
    alike: dict[tuple[str, str], list[ColumnFinding]] = {}
    for finding in findings:
        alike.setdefault((finding.level, finding.what), []).append(finding)
    for (level, what), several in alike.items():
        if len(several) <= MOST_ALIKE:
            yield from (Finding(level, f.text) for f in several)
            continue
        names, first = columns_text([f.name for f in several]).removeprefix("column "), several[0]
        of_first = "" if all(f.remedy == first.remedy for f in several) else f"Of '{first.name}': "
        yield Finding(level, f"{len(several)} columns, {names}: each {what}. {of_first}{first.remedy}")
