"""The option ``--set KEY=VALUE``."""

from collections import Counter
from collections.abc import Iterable

from flower_pansvm.errors import SettingError


def assignments(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return key and value of each KEY=VALUE.

    Raises
    ------
    SettingError
        If a text has no ``=``.
    """
    found = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise SettingError(
                f"--set {text} has no '='. Write it as --set KEY=VALUE, for instance --set C=10."
            )
        found.append((key.strip(), value.strip()))
    return found


def single_assignments(texts: Iterable[str]) -> dict[str, str]:
    """Return the value of each key.

    Raises
    ------
    SettingError
        If a text has no ``=``, or a key is given twice: which one counts would be a guess.
    """
    found = assignments(texts)
    twice = [key for key, times in Counter(key for key, _ in found).items() if times > 1]
    if twice:
        raise SettingError(f"--set {twice[0]}=... is given more than once. Give it once.")
    return dict(found)
