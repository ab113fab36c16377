"""The options of the Paillier sum, which are known where its packages are not installed."""

from dataclasses import dataclass

from flower_pansvm.setting_values import setting, whole


@dataclass(frozen=True)
class PaillierOptions:
    """Length of the public key n in bits: at least 2048, shorter ones can be broken, and a multiple of 16."""

    key_bits: int = setting(3072, whole(2048, multiple=16), "Length of a Paillier key in bits.")
