"""Secure sums: the coordinator learns the sum over the sites and nothing else.

A protocol is a subclass of :class:`~flower_pansvm.secure_sum.contract.SecureSum`: a frozen dataclass, whose fields that
are settings are its options. What is unknown, or has an option that cannot work, is a SettingError.
"""

from pkgutil import resolve_name

from flower_pansvm.constraints import values_in
from flower_pansvm.secure_sum.contract import SecureSum
from flower_pansvm.terms import Terms

OWN_PROTOCOLS = {
    "double-mask": "flower_pansvm.secure_sum.protocols.double_mask:DoubleMask",
    "k-secure": "flower_pansvm.secure_sum.protocols.k_secure:KSecure",
    "k-secure-hops": "flower_pansvm.secure_sum.protocols.k_secure_hops:KSecureHops",
    "paillier": "flower_pansvm.secure_sum.protocols.paillier:Paillier",
    "plain": "flower_pansvm.secure_sum.unprotected.plain:Plain",
    "ring": "flower_pansvm.secure_sum.protocols.ring:Ring",
    "ring-hops": "flower_pansvm.secure_sum.protocols.ring_hops:RingHops",
}
"""This project's protocols by name, each loaded only when a run names it."""


def protocol_of(terms: Terms) -> SecureSum:
    """Return the secure sum of a run, with its options of the run config: the same at the coordinator and all sites."""
    if terms.aggregation in OWN_PROTOCOLS:
        protocol = resolve_name(OWN_PROTOCOLS[terms.aggregation])
    else:
        from flower_pansvm.secure_sum.registry import PROTOCOLS  # noqa: PLC0415 - few runs have another package's

        protocol = PROTOCOLS[terms.aggregation]
    made: SecureSum = protocol(**values_in(protocol, terms.config))
    return made
