"""Whom to cite: ``references.toml`` as BibTeX (``pansvm --cite``), as ``CITATION.cff`` and as a table of a page.

``python -m simulations.references`` writes ``CITATION.cff`` anew.
"""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from flower_pansvm.version import VERSION

ROOT = Path(__file__).parents[1]
CITATION = ROOT / "CITATION.cff"

SOFTWARE = "flower-pansvm"
CONTRIBUTORS = f"{SOFTWARE} contributors"

CFF_TYPES = {
    "article": "article",
    "inproceedings": "conference-paper",
    "phdthesis": "thesis",
    "techreport": "report",
    "misc": "generic",
}
"""What CITATION.cff calls the kinds of BibTeX."""

VENUES = {
    "article": "journal",
    "inproceedings": "booktitle",
    "phdthesis": "school",
    "techreport": "institution",
    "misc": "howpublished",
}
"""The field of BibTeX that has the venue."""


@dataclass(frozen=True)
class Reference:
    """A work that systems, baselines or secure sums are from."""

    key: str
    type: str  # of BibTeX
    authors: tuple[str, ...]  # "Family, Given"
    title: str
    venue: str
    year: int
    used_for: tuple[str, ...]  # names of settings
    doi: str = ""
    url: str = field(default="")  # where there is no DOI

    @property
    def link(self) -> str:
        """Its address; empty if it has none."""
        return f"https://doi.org/{self.doi}" if self.doi else self.url


def references() -> tuple[Reference, ...]:
    """Return all references, in the order of the file."""
    text = files("simulations").joinpath("references.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)
    return tuple(
        Reference(
            key=key,
            authors=tuple(entry.pop("authors")),
            used_for=tuple(entry.pop("for")),
            **entry,
        )
        for key, entry in entries.items()
    )


def bibtex() -> str:
    """Return the software and all references as BibTeX, each after a line that says what it is to be cited for."""
    software = (
        f"@software{{{SOFTWARE},\n  author = {{{{{CONTRIBUTORS}}}}},\n  title = {{{SOFTWARE}}},\n"
        f"  version = {{{VERSION}}}\n}}"
    )
    return "\n\n".join([f"% this software\n{software}", *map(_entry, references())]) + "\n"


def _entry(one: Reference) -> str:
    fields = {
        "author": " and ".join(one.authors),
        "title": f"{{{one.title}}}",
        VENUES[one.type]: one.venue,
        "year": str(one.year),
        "doi": one.doi,
        "url": one.url,
    }
    lines = ",\n".join(f"  {name} = {{{text}}}" for name, text in fields.items() if text)
    return f"% {', '.join(one.used_for)}\n@{one.type}{{{one.key},\n{lines}\n}}"


def citation() -> str:
    """Return the text of ``CITATION.cff``; a JSON string is a string of YAML, too."""
    lines = [
        "# Made from simulations/references.toml by: python -m simulations.references",
        "cff-version: 1.2.0",
        f"message: {_quoted('Please cite the software, and the papers of the systems that you use.')}",
        "type: software",
        f"title: {SOFTWARE}",
        f"version: {VERSION}",
        "license: Apache-2.0",
        "authors:",
        f"  - name: {_quoted(CONTRIBUTORS)}",
        "references:",
    ]
    for one in references():
        lines += _cff_entry(one)
    return "\n".join(lines) + "\n"


def _cff_entry(one: Reference) -> Iterator[str]:
    venue = "institution:\n      name" if one.type in ("phdthesis", "techreport") else "journal"
    if one.type == "inproceedings":
        venue = "collection-title"
    yield f"  - type: {CFF_TYPES[one.type]}"
    yield f"    title: {_quoted(one.title)}"
    yield "    authors:"
    for author in one.authors:
        family, given = author.split(", ")
        yield f"      - family-names: {_quoted(family)}"
        yield f"        given-names: {_quoted(given)}"
    yield f"    {venue}: {_quoted(one.venue)}"
    yield f"    year: {one.year}"
    if one.link:
        yield f"    {'doi' if one.doi else 'url'}: {_quoted(one.doi or one.url)}"
    yield f"    notes: {_quoted('For ' + ', '.join(one.used_for))}"


def _quoted(text: Any) -> str:
    return json.dumps(text, ensure_ascii=False)


def table() -> tuple[tuple[str, ...], list[list[str]]]:
    """Return header and lines of a page's table: what for, and the reference with a link."""
    lines = []
    for one in references():
        names = [author.split(", ")[0] for author in one.authors]
        who = (
            names[0]
            if len(names) == 1
            else f"{names[0]} and {names[1]}"
            if len(names) == 2
            else f"{names[0]} et al."
        )
        link = f"[{one.doi or 'link'}]({one.link})" if one.link else "no DOI"
        lines.append(
            [
                ", ".join(f"`{name}`" for name in one.used_for),
                f"{who}, *{one.title}*, {one.venue}, {one.year}",
                link,
            ]
        )
    return ("for", "reference", "DOI or address"), lines


if __name__ == "__main__":
    CITATION.write_text(citation(), encoding="utf-8")
