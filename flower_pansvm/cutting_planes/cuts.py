"""A site's part of a cutting plane: sums over its own rows, at every point asked for.

Paper: Lu 2016, section 3.2.2.3, Algorithm 2, lines 4-8.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Cuts:
    """Cutting planes L >= m_t - w.a_t - b d_t of one problem, t = 1 ... T, and the loss where they touch.

    Parameters
    ----------
    a : ndarray of shape (T, rank)
        Sum over rows of c_i y_i f_i.
    d : ndarray of shape (T,)
        Sum over rows of c_i y_i.
    m : ndarray of shape (T,)
        Sum over rows of c_i.
    loss : ndarray of shape (T,)
        Sum over rows of the hinge max(0, 1 - y_i (w.f_i + b)) at the point of cut t.
    """

    a: NDArray[np.float64]
    d: NDArray[np.float64]
    m: NDArray[np.float64]
    loss: NDArray[np.float64]


def cuts_at(F: NDArray[np.float64], y: NDArray[np.float64], points: NDArray[np.float64]) -> Cuts:
    """Return one site's share of the cutting planes at the given points.

    Line 5 of Algorithm 2 as printed leaves the bias out of the test for c_i; as its line 9 shows, it belongs
    in: c_i = 1 where y_i (w.f_i + b) < 1.

    Parameters
    ----------
    F : ndarray of shape (rows, rank)
        Mapped rows.
    y : ndarray of shape (rows,)
        +1 or -1.
    points : ndarray of shape (T, rank + 1)
        The weights w and, last, the bias b of each point.

    Returns
    -------
    Cuts
        Sums over the rows of ``F``; adding those of all sites gives the cutting planes of the federation.
    """
    slack = 1.0 - y[:, None] * (F @ points[:, :-1].T + points[:, -1])
    signed = np.where(slack > 0, y[:, None], 0.0)
    return Cuts(
        a=signed.T @ F,
        d=signed.sum(axis=0),
        m=np.abs(signed).sum(axis=0),
        loss=np.maximum(slack, 0.0).sum(axis=0),
    )
