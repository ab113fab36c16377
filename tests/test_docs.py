"""The pages name what there is: files, links, headings, and each other."""

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

from clients.checking.perturbation import NOTHING
from clients.policy import PARTS, HospitalPolicy
from flower_pansvm.consents import CONSENTS, LEVELS
from flower_pansvm.constraints import setting_fields
from simulations import figures
from simulations.result_files import EXACT, NOISES, result

ROOT = Path(__file__).parents[1]
KINDS = (HospitalPolicy, *map(resolve_name, PARTS))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED_FILE = re.compile(r"`((?:flower_pansvm|clients|strategies|simulations|tests|docs)/[\w./-]*)`")

MOST_WORDS_OF_A_PAGE, MOST_WORDS = 2250, 31_000
"""As ``wc -w`` counts without tables of results: raise one only for what readers need."""


def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and mkdocs both make them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    words = [
        re.sub(r"[^\w\s-]", "", re.sub(r"\]\([^)]*\)", "", heading)).strip().lower() for heading in headings
    ]
    # GitHub makes two hyphens of " & ", mkdocs one: such headings have no anchor that works in both.
    return {re.sub(r"\s", "-", one) for one in words if "  " not in one}


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/threat-model.md"])
def test_the_levels_and_their_defaults_are_told_first(name: str) -> None:
    first = " ".join((ROOT / name).read_text(encoding="utf-8").split()[:200])
    assert all(f"`{level}`" in first for level in LEVELS)
    assert "default" in first.lower()
    assert re.search("coordinator (can compute|computes) most records of a small table", first)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(prose(page)):
        if target.startswith("http"):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(file), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_are_there(page: Path) -> None:
    for name in NAMED_FILE.findall(prose(page)):
        assert (ROOT / name).exists(), f"{page.name}: {name}"


def test_tests_that_are_cited_as_evidence_exist() -> None:
    sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    there = {
        *re.findall(r"def (test_\w+)", sources),
        *(file.name for file in (ROOT / "tests").rglob("test_*.py")),
    }
    cited = {
        name for page in PAGES for name in re.findall(r"`(?:[\w/]+/)?(test_\w+(?:\.py)?)[`:]", prose(page))
    }
    assert len(cited) > 20
    assert cited <= there


def test_the_site_has_every_page_and_links_within_itself_only() -> None:
    navigation = re.findall(
        r"^ +- .*: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(navigation) == [page.name for page in PAGES if page.parent == ROOT / "docs"]
    for name in navigation:
        assert not [one for one in LINK.findall(prose(ROOT / "docs" / name)) if one.startswith("..")], name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_begins_at_the_margin(page: Path) -> None:
    """Within a list the site shows it as text."""
    assert not re.findall(r"^ +```", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_page_of_the_node_config_has_every_key_once() -> None:
    lines = (ROOT / "docs" / "node-configuration.md").read_text(encoding="utf-8").splitlines()
    keys = [line.split("`")[1] for line in lines if line.startswith("| `")]
    assert sorted(keys) == sorted([*CONSENTS, *(key for kind in KINDS for key in setting_fields(kind))])


def test_the_page_of_the_node_config_has_the_defaults_of_the_policy() -> None:
    text = (ROOT / "docs" / "node-configuration.md").read_text(encoding="utf-8")
    written = dict(re.findall(r"^\| `(\S+)` \| .* \| `?([\d.e-]+)`?:?[^|]*\|$", text, re.M))
    settings = [one for kind in KINDS for one in setting_fields(kind).items()]
    usual = {key: one.default for key, one in settings if one.default}
    numbers = {key: value for key, value in usual.items() if isinstance(value, int | float)}
    assert {key: float(written[key]) for key in numbers} == numbers


def test_pages_can_be_read() -> None:
    words = {
        page.name: len(figures.BLOCK.sub("", page.read_text(encoding="utf-8")).split()) for page in PAGES
    }
    assert {name: count for name, count in words.items() if count > MOST_WORDS_OF_A_PAGE} == {}
    assert sum(words.values()) <= MOST_WORDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_of_results_are_those_of_the_result_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert figures.rendered(text) == text, "python -m simulations.figures writes them anew"


def test_every_table_and_plot_of_results_is_on_a_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert {
        found[1] for found in figures.BLOCK.finditer(text)
    } == figures.TABLES.keys() | figures.OTHERS.keys()
    assert all(f"({name})" in text for name in figures.PLOTS)


def test_figures_in_sentences_about_attacks_are_those_of_their_results() -> None:
    found = result("privacy").frame("levels")
    exact, low, high = (found[found["level"] == level] for level in (EXACT, *NOISES))
    run, months = (exact[exact["how"] == "run"], found[found["how"] == "months"])
    most = run.loc[run["found"].idxmax()]
    added = months[months["level"] != EXACT]["found"]
    active = found[found["how"] == "active"]
    copies = active[active["level"] != EXACT]
    of_members = [one[one["how"] == "seeds"]["membership"] for one in (low, high)]
    ranges = [
        f"{one.min():.2f} to {one.max():.2f} at noise {noise}"
        for one, noise in zip(of_members, (0.25, 0.5), strict=True)
    ]
    assert (months[months["level"] == EXACT]["found"] == 36).all()
    assert (active[active["level"] == EXACT]["found"] == active[active["level"] == EXACT]["records"]).all()
    assert (copies["found"] >= 0.98 * copies["records"]).all()
    threats, attacks = (
        (ROOT / "docs" / name).read_text() for name in ("threat-model.md", "privacy-compared.md")
    )
    assert (
        f"up to {most['found']:.0f} of {most['records']:.0f} records from one run; each of 36 added"
        in threats
    )
    assert f"{ranges[0]}, {ranges[1].replace(' at noise', ' at')}" in threats
    assert f"at `perturbed` {added.min():.0f} to {added.max():.0f} of their copies" in attacks
    assert "on all eight tables at `exact` all records, at `perturbed` 98 % or more" in attacks


def test_figures_in_sentences_about_filters_are_those_of_their_results() -> None:
    found = result("filters").frame("filters").query("noise == 0.5")
    shares = [100 * found[found["genes"] == genes]["share_left"] for genes in (False, True)]
    wanted = [f"{one.min():.0f} to {one.max():.0f} %" for one in shares]
    text = (ROOT / "docs" / "threat-model.md").read_text()
    assert f"[{wanted[0]} of it](privacy-compared.md#what-the-copy-tells) on {len(shares[0])} tables" in text
    assert f"on four gene tables {wanted[1]}" in text
    least = 100 * NOTHING
    assert shares[1].max() < least < shares[0].min()
