"""The keys of all sites travel once, together, and come apart as they were."""

from dataclasses import replace

import numpy as np
import pytest

from flower_pansvm.errors import SumError
from flower_pansvm.summing import AllKeys, PublicKeys

THREE = {
    "a": PublicKeys(b"1" * 32, b"", b"", b""),
    "b": PublicKeys(b"2" * 32, b"p", b"e", b"s"),
    "c": PublicKeys(b"", b"", b"", b""),
}


@pytest.mark.parametrize(
    "change",
    [
        {"sites": ("a", "b")},
        {"sites": ("a", "b", "b")},
        {"octets": np.zeros(3, dtype=np.uint8)},
        {"octets": AllKeys.of(THREE).octets[:-1]},
        {"octets": AllKeys.of(THREE).octets[:35]},
        {"octets": np.append(AllKeys.of(THREE).octets, np.uint8(0))},
        {"octets": np.full(60, 255, dtype=np.uint8)},
    ],
)
def test_parts_that_do_not_fit_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(SumError):
        replace(AllKeys.of(THREE), **change).by_site()  # type: ignore[arg-type]
