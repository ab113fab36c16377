"""Sites that fall silent at random moments, all in one process."""

import math
from collections.abc import Iterable

import numpy as np
from flwr.app import Message

from clients.app import app
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import COORDINATOR, InProcessGrid
from strategies.settings import Settings

MOMENTS = 10
"""Messages after the first within which the sites fall silent, each at one of them: about as many as a run has."""


class SilentGrid(InProcessGrid):
    """A grid on which a share of the sites stops answering, each from a message on that is drawn at random.

    Parameters
    ----------
    settings : Settings
        The run's settings, which say how many sites there are.
    share : float
        Of the sites, those that fall silent; rounded to a whole number of sites.
    seed : int
        Of the draw.

    Attributes
    ----------
    silent : dict of int to int
        By node id, the number of the message that a site does not answer, nor any after it. All answer the first one,
        by which they join.
    """

    def __init__(self, settings: Settings, share: float, seed: int = 0) -> None:
        count = settings.sites
        nodes: list[dict[str, Scalar]] = [
            {"partition-id": site, "num-partitions": count} for site in range(count)
        ]
        super().__init__(app, nodes, settings.run_config)
        generator = np.random.default_rng(seed)
        chosen = COORDINATOR + 1 + generator.choice(count, round(share * count), replace=False)
        moments = generator.integers(2, 2 + MOMENTS, len(chosen))
        self.silent = dict(zip(chosen.tolist(), moments.tolist(), strict=True))
        self._sent = 0

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Hand on the messages to sites that still answer."""
        self._sent += 1
        asked = list(messages)
        answers = [self._sent < self.silent.get(one.metadata.dst_node_id, math.inf) for one in asked]
        ids = iter(super().push_messages([one for one, heard in zip(asked, answers, strict=True) if heard]))
        return [next(ids) if heard else f"silent-{place}" for place, heard in enumerate(answers)]
