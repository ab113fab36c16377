"""Secure sums: the coordinator learns the sum over the sites and nothing else.

A protocol is a subclass of :class:`~flower_pansvm.secure_sum.contract.SecureSum`; ``register`` makes it
selectable by its name.
"""

import inspect
from typing import Any, TypeVar

from flower_pansvm.errors import SettingError
from flower_pansvm.secure_sum.contract import SecureSum
from flower_pansvm.secure_sum.protocols.k_secure import KSecure
from flower_pansvm.secure_sum.protocols.ring import Ring
from flower_pansvm.secure_sum.unprotected.plain import Plain
from flower_pansvm.setting_values import near_matches

__all__ = ["make", "protocol_class", "protocol_names", "register"]

Protocol = TypeVar("Protocol", bound=type[SecureSum])

PAILLIER = "paillier"  # imported only when asked for: phe is an extra, under another licence

_protocols: dict[str, type[SecureSum]] = {}


def register(protocol: Protocol) -> Protocol:
    """Make a protocol selectable by its ``name``; usable as a class decorator.

    Raises
    ------
    SettingError
        If another protocol has that name already.
    """
    known = _protocols.setdefault(protocol.name, protocol)
    if known is not protocol:
        raise SettingError(
            f"The name {protocol.name!r} already belongs to {known.__name__}; give yours another one."
        )
    return protocol


def protocol_names() -> list[str]:
    """Return the names of all registered protocols, sorted."""
    return sorted({*_protocols, PAILLIER})


def protocol_class(name: str) -> type[SecureSum]:
    """Return the class of the protocol called ``name``.

    Raises
    ------
    SettingError
        If there is none, or it needs a package that is not installed.
    """
    if name not in protocol_names():
        raise SettingError(f"There is no secure sum called {name!r}. {near_matches(name, protocol_names())}")
    if name == PAILLIER and name not in _protocols:
        from flower_pansvm.secure_sum.protocols.paillier import Paillier  # noqa: PLC0415

        register(Paillier)
    return _protocols[name]


def make(name: str, **options: Any) -> SecureSum:
    """Return the protocol called ``name`` with the given options.

    Raises
    ------
    SettingError
        If the name, an option or an option's value is unknown.
    """
    protocol = protocol_class(name)
    known = list(inspect.signature(protocol).parameters)
    for option in options:
        if option not in known:
            raise SettingError(
                f"The secure sum {name!r} has no setting {option!r}. {near_matches(option, known)}"
            )
    return protocol(**options)


for _protocol in (Plain, Ring, KSecure):
    register(_protocol)
