"""The parts of the sites' replies: names, types and shapes, which all sites of a sum have in common."""

from collections.abc import Mapping

from flower_pansvm.printable import printable
from flower_pansvm.weighted_mean import METRIC, Part, SiteParts, read_parts

Parts = tuple[Part, ...]

LONGEST = 300
"""Characters of a site's part of an error text."""


def most_alike(answers: Mapping[str, SiteParts]) -> tuple[Parts, list[str], str]:
    """Return the parts that most sites reply with, the names of these sites, and how the other replies differ.

    Of equally many sites no reply is the right one, and the first is returned. The text is empty if all are alike.
    """
    sites_by_parts: dict[Parts | None, list[str]] = {}
    for name, answer in answers.items():
        sites_by_parts.setdefault(_parts_of(answer), []).append(name)
    # A reply without parts is nobody's model.
    parts, names = max(sites_by_parts.items(), key=lambda entry: (entry[0] is not None) * len(entry[1]))
    others = [
        f"{', '.join(map(repr, sites))} {_difference(other, parts or ())}"
        for other, sites in sites_by_parts.items()
        if other != parts or other is None
    ]
    return parts or (), names if parts is not None else [], "; ".join(others)


def _parts_of(answer: SiteParts) -> Parts | None:
    """Return the parts of a site's reply; None if its list of them is invalid."""
    try:
        return read_parts(answer.parts)
    except ValueError:
        return None


def _difference(other: Parts | None, parts: Parts) -> str:
    """Return what is different in other parts, as the end of a sentence."""
    if other is None:
        return "with an invalid list of contents, as of another version of flower-pansvm"
    more, less = (
        [_words(part) for part in one if part not in two] for one, two in ((other, parts), (parts, other))
    )
    if not more and not less:
        return "in another order"
    text = " and ".join(
        f"{how} {', '.join(words)}" for how, words in (("with", more), ("without", less)) if words
    )
    return printable(text, LONGEST)


def _words(part: Part) -> str:
    """Return a part in words: its key, type and shape."""
    _, key, kind, shape = part
    sides = " x ".join(map(str, shape)) or "one number"
    return f"'{key}' ({'metric' if kind == METRIC else kind}, {sides})"
