"""Whom to cite: every system, baseline and secure sum has a reference, in each of the forms made from one file."""

import re

import pytest
from typer.testing import CliRunner

from flower_pansvm.cli import cli
from simulations import references
from simulations.baselines.registry import BASELINES
from simulations.benchmarks.secure_sums import AGGREGATIONS
from strategies.registry import STRATEGIES

KNOWN = references.references()


def test_every_system_baseline_and_secure_sum_is_cited() -> None:
    named = {name for one in KNOWN for name in one.used_for}
    there = {*STRATEGIES, *BASELINES, *AGGREGATIONS} - {"plain"}
    assert there <= named
    assert named - there == {references.SOFTWARE}


@pytest.mark.parametrize("one", KNOWN, ids=lambda one: one.key)
def test_a_reference_is_whole(one: references.Reference) -> None:
    assert one.type in references.VENUES
    assert one.type in references.CFF_TYPES
    assert one.title
    assert one.venue
    assert one.authors
    assert all(re.fullmatch(r"[^,]+, [^,]+", author) for author in one.authors)
    assert 1990 < one.year < 2030
    assert not one.doi or re.fullmatch(r"10\.\d{4,}/\S+", one.doi)
    assert not (one.doi and one.url)


def test_citation_cff_is_made_from_the_file() -> None:
    written = references.CITATION.read_text(encoding="utf-8")
    assert written == references.citation(), "python -m simulations.references writes it anew"
    assert written.count("  - type:") == len(KNOWN)


def test_bibtex_has_balanced_braces_and_every_key() -> None:
    text = references.bibtex()
    assert text.count("{") == text.count("}")
    assert re.findall(r"^@\w+\{(\S+),$", text, re.MULTILINE) == [
        references.SOFTWARE,
        *(one.key for one in KNOWN),
    ]
    # As printed in the papers.
    for doi in ("10.1155/2014/827371", "10.57709/9444795"):
        assert f"doi = {{{doi}}}" in text


def test_pansvm_cite_prints_them() -> None:
    done = CliRunner().invoke(cli, ["--cite"])
    assert (done.exit_code, done.output) == (0, references.bibtex())
