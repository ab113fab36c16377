"""Secure sums: the coordinator learns the sum over the sites and nothing else.

A protocol is a subclass of :class:`~flower_pansvm.secure_sum.contract.SecureSum`: a frozen dataclass, whose fields that
are settings are its options. ``register`` makes it selectable by its name. What is unknown, or has an option that
cannot work, is a SettingError.
"""

from dataclasses import fields
from pkgutil import resolve_name
from typing import Any, TypeVar, cast

from flower_pansvm.constraints import key_of
from flower_pansvm.registry import Registry
from flower_pansvm.secure_sum.contract import SecureSum
from flower_pansvm.terms import Terms

Protocol = TypeVar("Protocol", bound=type[SecureSum])

PAILLIER = "paillier"

SHIPPED = {
    "k-secure": "flower_pansvm.secure_sum.protocols.k_secure:KSecure",
    "k-secure-hops": "flower_pansvm.secure_sum.protocols.k_secure_hops:KSecureHops",
    PAILLIER: "flower_pansvm.secure_sum.protocols.paillier:Paillier",
    "plain": "flower_pansvm.secure_sum.unprotected.plain:Plain",
    "ring": "flower_pansvm.secure_sum.protocols.ring:Ring",
    "ring-hops": "flower_pansvm.secure_sum.protocols.ring_hops:RingHops",
}
"""Module and class of each protocol here, which is loaded only when a run names it."""

_protocols: Registry[type[SecureSum] | str] = Registry("secure sum")
_protocols.update(SHIPPED)


def register(protocol: Protocol) -> Protocol:
    """Make a protocol selectable by its ``name``; usable as a class decorator."""
    _protocols.register(protocol.name)(protocol)
    return protocol


def protocol_names() -> list[str]:
    """Return the names of all protocols, sorted."""
    return [*_protocols]


def options_class(name: str) -> type:
    """Return the dataclass whose settings are a protocol's options; Paillier, whose packages may lack, has none."""
    return SecureSum if name == PAILLIER else protocol_class(name)


def protocol_class(name: str) -> type[SecureSum]:
    """Return the class of the protocol called ``name``; SettingError if a package that it needs is not installed."""
    found = _protocols[name]
    return cast(type[SecureSum], resolve_name(found)) if isinstance(found, str) else found


def make(name: str, **options: Any) -> SecureSum:
    """Return the protocol called ``name`` with the given options."""
    return protocol_class(name)(**options)


def protocol_of(terms: Terms) -> SecureSum:
    """Return the secure sum of a run, with its options of the run config: the same at the coordinator and all sites."""
    protocol = protocol_class(terms.aggregation)
    options = {key_of(one.name): one.name for one in fields(protocol) if "constraint" in one.metadata}
    return protocol(**{options[key]: value for key, value in terms.config.items() if key in options})
