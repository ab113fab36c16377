"""The option ``--set KEY=VALUE``."""

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
