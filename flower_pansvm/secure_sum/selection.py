"""Which secure sum a run's terms ask for."""

from dataclasses import fields

from flower_pansvm.secure_sum import make, options_class
from flower_pansvm.secure_sum.contract import SecureSum
from flower_pansvm.setting_values import key_of
from flower_pansvm.terms import Terms


def protocol_of(terms: Terms) -> SecureSum:
    """Return the secure sum of a run, with its options of the run config; the same at the coordinator and every site.

    Raises
    ------
    SettingError
        If there is no such protocol, or an option has a value that cannot work.
    """
    own = {key_of(one.name): one.name for one in fields(options_class(terms.aggregation))}
    return make(terms.aggregation, **{own[key]: value for key, value in terms.config.items() if key in own})
