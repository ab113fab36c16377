"""The report in a real browser: a picture of it on a wide screen and on a phone, a printed page, nothing cut off."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from simulations.report.page import write_report
from simulations.running import run
from strategies.settings import make_settings

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a run with very long names of columns and sites."""
    folder = tmp_path_factory.mktemp("run")
    run(make_settings(data="wine", sites=3, out=str(folder)), "in-process", lambda _: None)
    result = json.loads((folder / "result.json").read_text())
    long = "a_name_without_any_space_that_somebody_has_made_of_the_whole_question_of_a_questionnaire"
    result |= {"site_names": [long, "Kiel", "Bern"], "constant_columns": [long], "dropped_sites": [long]}
    (folder / "result.json").write_text(json.dumps(result))
    return write_report(folder)


@pytest.fixture(scope="module")
def noisy_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a run of two classes, with counts as a differentially private one has them."""
    folder = tmp_path_factory.mktemp("noisy")
    run(make_settings(sites=3, landmarks=6, tol=0.5, out=str(folder)), "in-process", lambda _: None)
    result = json.loads((folder / "result.json").read_text())
    confusion = [[1000.4 + number for number in line] for line in result["confusion"]]
    (folder / "result.json").write_text(json.dumps(result | {"confusion": confusion, "count_noise": 4.7}))
    return write_report(folder)


def in_browser(page: Path, *options: str) -> str:
    """Open a page in a browser without network and return what it writes."""
    assert BROWSER is not None
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ]
    command += [f"--user-data-dir={page.parent / 'profile'}", *options, page.as_uri()]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def in_frame(page: Path, width: int, script: str) -> str:
    """Return what a script says of a page in a frame: a headless window is never as narrow as a phone, a frame is."""
    framed = page.with_name(f"framed-{width}.html")
    framed.write_text(
        f'<iframe id="frame" src="{page.name}" style="width: {width}px; height: 800px; border: 0"></iframe><script>'
        "document.getElementById('frame').onload = event => { const it = event.target.contentDocument.documentElement;"
        f"document.title = {script}; }}</script>"
    )
    dom = in_browser(framed, "--allow-file-access-from-files", "--virtual-time-budget=5000", "--dump-dom")
    found = re.search(r"<title>(.+?)</title>", dom)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("width", [1400, 390])
def test_nothing_is_wider_than_the_screen(page: Path, width: int) -> None:
    wide, screen = in_frame(page, width, "`${it.scrollWidth} of ${it.clientWidth}`").split(" of ")
    assert int(wide) <= int(screen) <= width


def test_a_phone_shows_the_confidence_intervals_without_scrolling(noisy_page: Path) -> None:
    script = "[...it.querySelectorAll('.scroll:has(table.shares)')].map(at => at.scrollWidth - at.clientWidth).join()"
    assert in_frame(noisy_page, 390, script) == "0"


def test_it_can_be_printed(page: Path) -> None:
    printed = page.with_suffix(".pdf")
    in_browser(page, "--no-pdf-header-footer", f"--print-to-pdf={printed}")
    content = printed.read_bytes()
    assert content.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page[^s]", content)) <= 12
