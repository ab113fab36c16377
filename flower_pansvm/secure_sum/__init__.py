"""Secure sums: the coordinator learns the sum over the sites and nothing else.

A protocol is a subclass of :class:`~flower_pansvm.secure_sum.contract.SecureSum`: a frozen dataclass, whose fields that
are settings are its options. What is unknown, or has an option that cannot work, is a SettingError.
"""

from dataclasses import fields

from flower_pansvm.constraints import key_of
from flower_pansvm.registry import Registry
from flower_pansvm.secure_sum.contract import SecureSum
from flower_pansvm.terms import Terms

PROTOCOLS: Registry[type[SecureSum]] = Registry(
    "secure sum",
    {
        "double-mask": "flower_pansvm.secure_sum.protocols.double_mask:DoubleMask",
        "k-secure": "flower_pansvm.secure_sum.protocols.k_secure:KSecure",
        "k-secure-hops": "flower_pansvm.secure_sum.protocols.k_secure_hops:KSecureHops",
        "paillier": "flower_pansvm.secure_sum.protocols.paillier:Paillier",
        "plain": "flower_pansvm.secure_sum.unprotected.plain:Plain",
        "ring": "flower_pansvm.secure_sum.protocols.ring:Ring",
        "ring-hops": "flower_pansvm.secure_sum.protocols.ring_hops:RingHops",
    },
    "flower_pansvm.protocols",
    lambda thing: isinstance(thing, type) and issubclass(thing, SecureSum),
)
"""All protocols by name, loaded only when a run names them."""


def protocol_of(terms: Terms) -> SecureSum:
    """Return the secure sum of a run, with its options of the run config: the same at the coordinator and all sites."""
    protocol = PROTOCOLS[terms.aggregation]
    options = {key_of(item.name): item.name for item in fields(protocol) if "constraint" in item.metadata}
    return protocol(**{options[key]: value for key, value in terms.config.items() if key in options})
