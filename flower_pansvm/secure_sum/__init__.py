"""Secure sums: the coordinator learns the sum over the sites and nothing else.

A protocol is a subclass of :class:`~flower_pansvm.secure_sum.contract.SecureSum`: a frozen dataclass, whose fields are
its options. ``register`` makes it selectable by its name. What is unknown, or has an option that cannot work, is a
SettingError.
"""

from dataclasses import fields
from typing import Any, TypeVar

from flower_pansvm.constraints import check_choice, key_of
from flower_pansvm.registry import Registry
from flower_pansvm.secure_sum.contract import PaillierOptions, SecureSum
from flower_pansvm.secure_sum.protocols.k_secure import KSecure
from flower_pansvm.secure_sum.protocols.ring import Ring
from flower_pansvm.secure_sum.unprotected.plain import Plain
from flower_pansvm.terms import Terms

Protocol = TypeVar("Protocol", bound=type[SecureSum])

PAILLIER = "paillier"  # imported only when asked for: phe is an extra, under another licence

_protocols: Registry[type[SecureSum]] = Registry("secure sum")


def register(protocol: Protocol) -> Protocol:
    """Make a protocol selectable by its ``name``; usable as a class decorator."""
    _protocols.register(protocol.name)(protocol)
    return protocol


def protocol_names() -> list[str]:
    """Return the names of all registered protocols, sorted."""
    return sorted({*_protocols, PAILLIER})


def options_class(name: str) -> type:
    """Return the dataclass whose fields are the options of the protocol called ``name``."""
    return PaillierOptions if name == PAILLIER else _protocols[name]


def protocol_class(name: str) -> type[SecureSum]:
    """Return the class of the protocol called ``name``; SettingError if a package that it needs is not installed."""
    check_choice("secure sum", name, protocol_names())
    if name == PAILLIER and name not in _protocols:
        from flower_pansvm.secure_sum.protocols.paillier import Paillier  # noqa: PLC0415

        register(Paillier)
    return _protocols[name]


def make(name: str, **options: Any) -> SecureSum:
    """Return the protocol called ``name`` with the given options."""
    return protocol_class(name)(**options)


def protocol_of(terms: Terms) -> SecureSum:
    """Return the secure sum of a run, with its options of the run config: the same at the coordinator and all sites."""
    own = {key_of(one.name): one.name for one in fields(options_class(terms.aggregation))}
    return make(terms.aggregation, **{own[key]: value for key, value in terms.config.items() if key in own})


for _protocol in (Plain, Ring, KSecure):
    register(_protocol)
