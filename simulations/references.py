"""Whom to cite: ``references.toml`` as BibTeX (``pansvm --cite``), as ``CITATION.cff`` and as a table of a page.

``python -m simulations.references`` writes ``CITATION.cff`` anew.
"""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
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
"""CITATION.cff's names for the kinds of BibTeX."""

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
    url: str = ""  # where there is no DOI

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


def _entry(reference: Reference) -> str:
    fields = {
        "author": " and ".join(reference.authors),
        "title": f"{{{reference.title}}}",
        VENUES[reference.type]: reference.venue,
        "year": str(reference.year),
        "doi": reference.doi,
        "url": reference.url,
    }
    lines = ",\n".join(f"  {name} = {{{text}}}" for name, text in fields.items() if text)
    return f"% {', '.join(reference.used_for)}\n@{reference.type}{{{reference.key},\n{lines}\n}}"


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
    for reference in references():
        lines += _cff_entry(reference)
    return "\n".join(lines) + "\n"


def _cff_entry(reference: Reference) -> Iterator[str]:
    venue = "institution:\n      name" if reference.type in ("phdthesis", "techreport") else "journal"
    if reference.type == "inproceedings":
        venue = "collection-title"
    yield f"  - type: {CFF_TYPES[reference.type]}"
    yield f"    title: {_quoted(reference.title)}"
    yield "    authors:"
    for author in reference.authors:
        family, given = author.split(", ")
        yield f"      - family-names: {_quoted(family)}"
        yield f"        given-names: {_quoted(given)}"
    yield f"    {venue}: {_quoted(reference.venue)}"
    yield f"    year: {reference.year}"
    if reference.link:
        yield f"    {'doi' if reference.doi else 'url'}: {_quoted(reference.doi or reference.url)}"
    yield f"    notes: {_quoted('For ' + ', '.join(reference.used_for))}"


def _quoted(text: Any) -> str:
    return json.dumps(text, ensure_ascii=False)


def table() -> tuple[tuple[str, ...], list[list[str]]]:
    """Return header and lines of a page's table: the use, and the reference with a link."""
    lines = []
    for reference in references():
        names = [author.split(", ")[0] for author in reference.authors]
        who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        link = f"[{reference.doi or 'link'}]({reference.link})" if reference.link else "no DOI"
        lines.append(
            [
                ", ".join(f"`{name}`" for name in reference.used_for),
                f"{who}, *{reference.title}*, {reference.venue}, {reference.year}",
                link,
            ]
        )
    return ("for", "reference", "DOI or address"), lines


if __name__ == "__main__":
    CITATION.write_text(citation(), encoding="utf-8")
