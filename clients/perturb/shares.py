"""What codes are drawn from, and measurements made up from: settled from copies, and so it tells nothing more."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from clients.perturb.draws import PerturbedTerms, cipher_of, code_places, drawn
from clients.perturb.kept import FARTHEST, GROUP_OF, NORMAL_QUANTILES, PRIOR_NOISE, SHARES, KeptColumn
from clients.perturb.marks import Words
from flower_pansvm.arrays import Floats
from flower_pansvm.privacy.discrete_noise import Bits, discrete_laplace
from flower_pansvm.terms import replaced_share


def settled_draws(
    columns: Sequence[KeptColumn],
    cells: Floats,
    bits: Words,
    secret: bytes,
    words: Words,
    terms: PerturbedTerms,
    random: Bits,
) -> list[KeptColumn]:
    """Return columns with what codes are drawn from, measurements made up from, and ends.

    It follows from copies. A record is in one of three groups, by its word. Copies of the first group are drawn from
    very noisy counts and a normal distribution, those of the next from what the copies of the groups before look like.
    """
    cipher, r, settled = cipher_of(secret), replaced_share(terms.noise), []
    noise = iter(discrete_laplace(PRIOR_NOISE, sum(len(column.listed) for column in columns), random))
    for index, begun in enumerate(columns):
        more = np.array([next(noise) for _ in begun.listed])
        column, floor = begun, np.full(len(begun.listed), begun.floor)
        floor[: len(begun.values)] /= 3 if begun.public else 1
        word, listed, measured = words[..., index], column.listed, len(column.values) + 1
        group, own = GROUP_OF[word[:, 0] & np.uint64(7)], code_places(cells[:, index], begun)
        # With noise that makes one record 1.05 times as likely at most.
        share = (np.bincount(own, minlength=len(more)) + more).clip(1) / len(cells)
        quantiles = column.mean + column.deviation * NORMAL_QUANTILES
        codes, x, expected = np.zeros(len(word), dtype=np.int64), np.zeros(len(word)), np.zeros(len(listed))
        for g in range(int(GROUP_OF.max()) + 1):
            floored = np.where(listed, np.maximum(share, floor), 0)
            counts = np.floor(floored / floored.sum() * SHARES).astype(np.int64)
            counts[counts.argmax()] += SHARES - counts.sum()
            column = replace(
                column,
                shares=[*column.shares, counts.tolist()],
                quantiles=[*column.quantiles, quantiles.tolist()] if column.measured else [],
            )
            rows, seen = group == g, group <= g
            codes[rows], x[rows] = drawn(
                cells[rows, index], bits[rows, index], column, cipher, word[rows], terms.noise
            )
            # Of the copies, r were drawn anew.
            expected += r * rows.sum() * counts / SHARES
            share = (np.bincount(codes[seen], minlength=len(listed)) - expected) / max(
                (1 - r) * seen.sum(), 1
            )
            copies = x[seen & (codes == measured)]
            if len(copies) >= len(NORMAL_QUANTILES):
                far = FARTHEST * column.deviation
                inside = copies.clip(column.mean - far, column.mean + far)
                copied = np.quantile(inside, ndtr(NORMAL_QUANTILES))
                quantiles = column.mean + (copied - column.mean) / math.sqrt(1 + terms.noise**2)
        if column.measured and not math.isfinite(column.low):
            least, far = terms.min_cluster, FARTHEST * column.deviation
            inner = np.sort(copies)[least - 1 : len(copies) - least + 1]
            ends = inner[[0, -1]] if len(inner) else (column.mean - far, column.mean + far)
            column = replace(column, low=float(ends[0]), high=float(ends[1]))
        settled.append(column)
    return settled
