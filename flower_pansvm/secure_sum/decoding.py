"""Summed words as floats again, at the coordinator (:mod:`flower_pansvm.secure_sum.fixed_point`)."""

from math import prod

import numpy as np

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import Words
from flower_pansvm.secure_sum.fixed_point import scale_exponent
from flower_pansvm.secure_sum.limbs import LIMB_BITS, LIMBS, LOWEST_BIT


def words_needed(size: int, bound: float | None) -> int:
    """Return how many words ``size`` values take."""
    return size * LIMBS if bound is None else size


def decode(
    words: Words, shape: tuple[int, ...], bound: float | None, sites: int, name: str = "array"
) -> Floats:
    """Return the summed words as floats of a shape, each rounded once to the nearest float64.

    ``words``, shape (words_needed(size, bound),), are the sum modulo 2**64 of the results of
    :func:`flower_pansvm.secure_sum.fixed_point.encode` at all ``sites``; ``bound`` and ``name`` are those of `encode`.
    SumError if their number does not fit the shape.
    """
    needed = words_needed(prod(shape), bound)
    if words.size != needed:
        raise SumError(
            f"The sum of {name!r} has {words.size} words, expected {needed}. "
            "The sites do not work on the same task; check that they run the same version."
        )
    signed = words.view(np.int64)
    if bound is None:
        return _join(signed).reshape(shape)
    rounded = signed.astype(np.float64)
    return np.ldexp(rounded, -scale_exponent(bound, sites)).reshape(shape)


def _join(signed: Ints) -> Floats:
    """Return the values whose summed limbs are given; Python's integer division rounds correctly."""
    unit = 1 << -LOWEST_BIT
    values = []
    for limbs in signed.reshape(LIMBS, -1).T.tolist():
        integer = 0
        for limb in limbs:
            integer = (integer << LIMB_BITS) + limb
        values.append(integer / unit)
    return np.array(values, dtype=np.float64)
