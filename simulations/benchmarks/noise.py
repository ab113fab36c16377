"""How long exact discrete noise takes to draw: ``python -m simulations.benchmarks.noise``.

Whether it has the distribution that it should have is a test's matter.
"""

import secrets
import sys
import time
from typing import Annotated

import numpy as np
import typer

from flower_pansvm.privacy.discrete_noise import discrete_gaussian, discrete_laplace, random_bits
from simulations.markdown import machine, markdown

SAMPLERS = {"discrete Gaussian": discrete_gaussian, "discrete Laplace": discrete_laplace}
SCALES = (20, 2**28, 2**40)
BLOCK = 10**6
"""Numbers drawn at a time: what a site adds to one answer is mostly less."""


def main(
    draws: Annotated[int, typer.Option(help="Numbers of each kind, at least 1.", min=1)] = 10**7,
) -> None:
    """Print processor time per number, and the deviation found beside the exact one."""
    rows = []
    for name, draw in SAMPLERS.items():
        for scale in SCALES:
            bits, squares = random_bits(secrets.token_bytes(32)), 0.0
            started = time.process_time()
            for start in range(0, draws, BLOCK):
                found = draw(scale, min(BLOCK, draws - start), bits) / scale
                squares += float(found @ found)
            seconds = time.process_time() - started
            # Of a discrete Laplace 2 e / (e - 1)² at 1 / scale; the Gaussian's is its parameter's, but for tiny ones.
            one = 1 / scale
            exact = 1.0 if draw is discrete_gaussian else one * np.sqrt(2 * np.exp(one)) / np.expm1(one)
            rows.append(
                [
                    name,
                    f"2^{scale.bit_length() - 1}" if scale > 1000 else str(scale),
                    f"{1e6 * seconds / draws:.2f}",
                    f"{np.sqrt(squares / draws):.4f}",
                    f"{exact:.4f}",
                ]
            )
    header = ["", "scale", "µs a number", "deviation / scale", "exact"]
    sys.stdout.write(f"{machine()} {draws:,} numbers each.\n\n{markdown(header, rows)}")


if __name__ == "__main__":
    typer.run(main)
