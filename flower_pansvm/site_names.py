"""Names of sites: of hospitals, which choose their own, and of simulated sites, which are numbered."""

import re

from flower_pansvm.printable import is_printable

MOST_NAME = 64
SITE_NAME = re.compile(rf"[^\s/\\](?:[^/\\]{{0,{MOST_NAME - 2}}}[^\s/\\])?")
"""A site's name: no path separators, and no blanks around it."""


def is_site_name(text: str) -> bool:
    """Tell whether a text can be the name of a site."""
    return bool(SITE_NAME.fullmatch(text)) and is_printable(text)


def simulated_name(index: int) -> str:
    """Return the name of a simulated site, such that names sort as numbers do."""
    return f"site-{index:03d}"
