"""Random numbers of a site that nobody else knows: they hide single rows in sums that are alike.

They are made from a secret of the site and of what they are for, not drawn afresh: who asks the same twice gets the
same answer and nothing to take a mean of. The secret follows from a long-lived key of the hospital and from its table,
not from the run: who starts the same run again, or resumes it, gets the same noise again. A table that has changed has
another secret: else the difference of two runs would be the change, without any noise.
"""

import hashlib
import hmac
import math
import os
import secrets
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar, cast

import numpy as np

from clients.gate.state_folder import state_folder
from clients.gate.terms import defends, least_blur
from clients.site import Site
from clients.table.table import digest
from flower_pansvm.arrays import Floats
from flower_pansvm.cutting_planes.cuts import Draw
from flower_pansvm.cutting_planes.problem import Problem
from flower_pansvm.errors import NOT_FOLLOWED, SettingError, SumError
from flower_pansvm.secure_sum import tags
from flower_pansvm.secure_sum.wire import join_fields
from flower_pansvm.tasks.task import declarations

A = TypeVar("A")

SECRET = "blur"  # what a site calls its secret among what it keeps of a run
KEY_FILE = "noise.key"
KEY_BYTES = 32

SITES = "sites"  # among how many sites the noise is shared, see `sites_of_run`


@dataclass(frozen=True)
class Noised(Generic[A]):
    """An answer with the site's secret noise in it: only :func:`add_noise` makes one, and the door asks for it."""

    answer: A


def add_noise(site: Site, answer: A, noise: Callable[[], Mapping[str, Floats]]) -> Noised[A]:
    """Return an answer with secret noise in its parts, unless the hospital has agreed to a run with exact sums.

    ``noise`` makes that of each part that the task declares as noised, and of no other one, in the part's shape.
    """
    if not defends(site.context):
        return Noised(answer)
    shares = noise()
    if shares.keys() != {name for name, part in declarations(type(answer)).items() if part.how == "noised"}:
        raise SumError(
            f"There is not noise for each part of a {type(answer).__name__} that needs it: a fault in the program."
        )
    sums = {name: np.add(getattr(answer, name), own) for name, own in shares.items()}
    return Noised(replace(answer, **sums))  # type: ignore[type-var]


def check_blurred(site: Site, asked: int) -> None:
    """Check that a request for sums with so many random rows asks for some, if the hospital insists on that."""
    if least_blur(site.context) > 0 and asked < 1:
        raise SettingError(
            f"Site '{site.name}' refuses blur=0: two sums could give away a patient's row by their difference. Start "
            "the run with preset=private and blur=auto, or write blur=0 into the node config if the hospital agrees."
        )


def check_curvature(site: Site, asked: bool) -> None:
    """Check that a site that hides its rows is not asked for the curvature of its loss.

    A curvature is as many numbers about the rows near the margin as would do to compute them, noise or not.
    """
    if asked and defends(site.context):
        raise SettingError(
            f"Site '{site.name}' refuses to tell the curvature of its loss in a run with preset=private: with private "
            f"the coordinator guesses it instead. {NOT_FOLLOWED}"
        )


def secret_of(site: Site) -> bytes:
    """Return the site's secret, 32 bytes; in a simulation it follows from the seed, so that runs repeat."""
    folder = state_folder(site.context)
    if folder is None:
        seed = str(site.context.run_config.get("seed", 0)).encode()
        return hashlib.sha256(join_fields(tags.BLUR, seed, site.name.encode())).digest()
    try:
        key = _key(folder / KEY_FILE)
    except OSError as error:
        raise SettingError(
            f"Site '{site.name}' cannot read or write '{KEY_FILE}' in its state folder ({type(error).__name__}). "
            "Give the SuperNode's account a folder of its own with state='/an/absolute/path' in the node config."
        ) from None
    return hmac.digest(key, join_fields(tags.BLUR, digest(site.table())), "sha256")


def _key(path: Path) -> bytes:
    """Return the hospital's key, made when there is none; of two processes that make one, the first wins."""
    if not path.exists():
        # Only this account can read it. It gets its name when it is complete.
        with tempfile.NamedTemporaryFile(dir=path.parent) as unfinished, suppress(FileExistsError):
            unfinished.write(secrets.token_bytes(KEY_BYTES))
            unfinished.flush()
            os.fsync(unfinished.fileno())
            os.link(unfinished.name, path)
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise SettingError(
            f"'{KEY_FILE}' in the site's state folder is damaged: it has not {KEY_BYTES} bytes. Put back a copy; a new "
            "key (delete the file) makes new noise, so that runs before and after it can be compared."
        )
    return key


def draw_for(site: Site, *about: object) -> Draw:
    """Return a source of secret random numbers from [0, 1) for one subject, told apart from others by its ``repr``."""
    secret = cast(bytes, site.kept(SECRET))
    key = hmac.digest(secret, join_fields(tags.BLUR, repr(about).encode()), "sha256")

    def draw(purpose: str, count: int) -> Floats:
        # A sponge with a secret key in front of what it takes in. There are many draws of few numbers each, for which
        # it takes a fifth of the time of a stream cipher under a key of its own.
        words = np.frombuffer(hashlib.shake_256(key + purpose.encode()).digest(8 * count), dtype="<u8")
        return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53

    return draw


def draw_of(site: Site, problem: Problem) -> Draw:
    """Return the secret random numbers for the sums of a binary problem.

    Others for other weights of the classes: with the same ones, both sums together would be without noise.
    """
    return draw_for(site, site.told_about(problem.feature_map), problem.pair, problem.fold, problem.weights)


def sites_of_run(site: Site) -> int:
    """Return among how many sites the noise of a sum is shared: those of the first sum of the run.

    Else who claims that sites are lost would get the same noise in other shares, and could solve for it.
    """
    sites = len(site.participation.this.roster) if site.participation else 1
    return cast(int, site.first(SITES, sites))


def weights(draw: Draw, purpose: str, shape: tuple[int, ...]) -> Floats:
    """Return secret random weights of rows or cells, from 0.5 up to 1.5, in a given shape."""
    return 0.5 + draw(purpose, math.prod(shape)).reshape(shape)
