"""What a site says of itself when it joins, checked before anything is made of it or shown."""

import re
from collections.abc import Mapping

import numpy as np

from flower_pansvm.errors import FederationError
from flower_pansvm.printable import MOST_COLUMNS, is_printable, name_problem, printable
from flower_pansvm.secure_sum.fixed_point import WIDE_LIMIT
from flower_pansvm.secure_sum.keys import KEY_BYTES
from flower_pansvm.tasks.joining import JoinAnswer
from flower_pansvm.tasks.scaling import ExtremesAnswer
from flower_pansvm.tasks.summing import EPOCH_BYTES
from flower_pansvm.version import VERSION

MOST_NAME = 64
SITE_NAME = re.compile(rf"[^\s/\\](?:[^/\\]{{0,{MOST_NAME - 2}}}[^\s/\\])?")
"""A site's name: no path separators, and no blanks around it."""

SIGNATURE_BYTES = (0, 64)
"""Length of a signature: none without an identity."""

MOST_PUBLISHED_BYTES = 2**16 - 1
MOST_CLASSES = 1000
DIGEST = re.compile(r"(?:[0-9a-f]{32})?")


def check_join(answer: JoinAnswer, node: int) -> str:
    """Check what a site has disclosed on joining and return its name.

    Parameters
    ----------
    answer : JoinAnswer
        What it has disclosed.
    node : int
        The site's node id.

    Raises
    ------
    FederationError
        If a part cannot be. The text names the site, by its node id as long as its name is not known to
        be one.
    """
    name = answer.name
    if not (SITE_NAME.fullmatch(name) and is_printable(name)):
        raise FederationError(
            f"The site at node {node} calls itself something that is no name: at most {MOST_NAME} characters, none of "
            "them a slash, a backslash or a control character, and no blanks around them. Write name='…' into its node "
            "config."
        )
    for part, value, lengths in (
        ("public key", answer.public_key, (KEY_BYTES,)),
        ("published", answer.published, range(MOST_PUBLISHED_BYTES + 1)),
        ("epochs", answer.epochs, range(0, MOST_PUBLISHED_BYTES, EPOCH_BYTES)),
        ("signature", answer.signature, SIGNATURE_BYTES),
    ):
        if len(value) not in lengths:
            raise _refusal(name, f"its {part} does not have the length of one")
    if answer.version != VERSION:
        raise FederationError(
            f"Site '{name}' runs version {printable(answer.version, 40)} of flower-pansvm, and the coordinator "
            f"{VERSION}. Install the same version on both sides, and start a new run."
        )
    if not DIGEST.fullmatch(answer.schema):
        raise _refusal(name, "the digest of its schema file is none")
    _check_texts(name, "columns", answer.columns, MOST_COLUMNS)
    _check_texts(name, "classes", answer.classes, MOST_CLASSES)
    return name


def check_extremes(answers: Mapping[str, ExtremesAnswer], shape: tuple[int, ...]) -> None:
    """Check the smallest and largest cells that sites have disclosed.

    Parameters
    ----------
    answers : mapping of site name to ExtremesAnswer
        What they have disclosed.
    shape : tuple of int
        Folds and features.

    Raises
    ------
    FederationError
        If they cannot be; it names the site.
    """
    for name, answer in answers.items():
        low, high = answer.low, answer.high
        if not low.shape == high.shape == shape:
            raise _refusal(name, "'low' and 'high' are not one number for each fold and column")
        # A feature without any cell has the extremes of nothing.
        nothing = (low == np.inf) & (high == -np.inf)
        small = np.maximum(np.abs(low), np.abs(high)) <= WIDE_LIMIT
        if not (nothing | (small & (low <= high))).all():
            raise _refusal(
                name, "the smallest cell of a column is above its largest, not a number, or too large"
            )


def _check_texts(name: str, part: str, texts: tuple[str, ...], most: int) -> None:
    if len(texts) > most:
        raise _refusal(name, f"its {part} are not a list of at most {most} texts")
    if len(set(texts)) < len(texts):
        raise _refusal(name, f"two of its {part} have the same name")
    for number, text in enumerate(texts, start=1):
        problem = name_problem(text)
        if problem:
            raise _refusal(name, f"number {number} of its {part} has a name that {problem}")


def _refusal(name: str, problem: str) -> FederationError:
    return FederationError(
        f"What site '{name}' sent cannot be: {problem}. Correct its table if it is that; or it runs another version of "
        "flower-pansvm, or a changed one."
    )
