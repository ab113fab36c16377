"""Secure sums: the coordinator learns the sum over the sites and nothing else.

A protocol is a subclass of :class:`~flower_pansvm.secure_sum.contract.SecureSum`: a frozen dataclass, whose fields that
are settings are its options. What is unknown, or has an option that cannot work, is a SettingError.
"""

from dataclasses import fields
from pkgutil import resolve_name
from typing import cast

from flower_pansvm.constraints import check_choice, key_of
from flower_pansvm.secure_sum.contract import SecureSum
from flower_pansvm.terms import Terms

PROTOCOLS: dict[str, str | type[SecureSum]] = {
    "k-secure": "flower_pansvm.secure_sum.protocols.k_secure:KSecure",
    "k-secure-hops": "flower_pansvm.secure_sum.protocols.k_secure_hops:KSecureHops",
    "paillier": "flower_pansvm.secure_sum.protocols.paillier:Paillier",
    "plain": "flower_pansvm.secure_sum.unprotected.plain:Plain",
    "ring": "flower_pansvm.secure_sum.protocols.ring:Ring",
    "ring-hops": "flower_pansvm.secure_sum.protocols.ring_hops:RingHops",
}
"""All protocols by name; of those here module and class, which are loaded only when a run names them."""


def protocol_class(name: str) -> type[SecureSum]:
    """Return the class of the protocol called ``name``; SettingError if a package that it needs is not installed."""
    check_choice("secure sum", name, PROTOCOLS)
    found = PROTOCOLS[name]
    return cast(type[SecureSum], resolve_name(found)) if isinstance(found, str) else found


def protocol_of(terms: Terms) -> SecureSum:
    """Return the secure sum of a run, with its options of the run config: the same at the coordinator and all sites."""
    protocol = protocol_class(terms.aggregation)
    options = {key_of(one.name): one.name for one in fields(protocol) if "constraint" in one.metadata}
    return protocol(**{options[key]: value for key, value in terms.config.items() if key in options})
