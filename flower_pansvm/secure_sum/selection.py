"""Which secure sum a run's settings ask for."""

import inspect

from flower_pansvm.errors import SettingError
from flower_pansvm.secure_sum import make, protocol_class
from flower_pansvm.secure_sum.contract import EXECUTIONS, SecureSum
from flower_pansvm.terms import Terms


def protocol_of(terms: Terms) -> SecureSum:
    """Return the secure sum of a run, the same at the coordinator and at every site.

    A protocol is given those of the settings ``execution``, ``k`` and ``key-bits`` that its constructor has a
    parameter for (``execution``, ``k``, ``bits``), so one that a user has registered gets them too.

    Raises
    ------
    SettingError
        If there is no such protocol, it cannot be executed in the way asked for, or a setting is out of range.
    """
    known = inspect.signature(protocol_class(terms.aggregation)).parameters
    if terms.execution != EXECUTIONS[0] and "execution" not in known:
        raise SettingError(
            f"The secure sum '{terms.aggregation}' has one execution only. Leave the setting execution out, or "
            "choose aggregation=ring or aggregation=k-secure."
        )
    wished = {"execution": terms.execution, "k": terms.k or None, "bits": terms.key_bits}
    return make(terms.aggregation, **{name: value for name, value in wished.items() if name in known})
