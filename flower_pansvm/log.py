"""The log: a logger of its own, ``flower_pansvm``, whose lines Flower's handlers show among Flower's.

Somebody else's app can then silence it, or send it elsewhere, and keep Flower's own lines.
"""

import logging

from flwr.common.logger import FLOWER_LOGGER

NAME = "flower_pansvm"

logger = logging.getLogger(NAME)
logger.parent = FLOWER_LOGGER  # for handlers and level; its name stays its own
