"""All secure sums by name: this project's own, and those of installed packages."""

from flower_pansvm.registry import Registry
from flower_pansvm.secure_sum import OWN_PROTOCOLS
from flower_pansvm.secure_sum.contract import SecureSum

PROTOCOLS: Registry[type[SecureSum]] = Registry(
    "secure sum",
    OWN_PROTOCOLS,
    "flower_pansvm.protocols",
    lambda thing: isinstance(thing, type) and issubclass(thing, SecureSum),
    ("name", "protected"),
)
"""Each is loaded only when a run names it."""
