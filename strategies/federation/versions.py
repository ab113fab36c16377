"""Which of two versions of this project is the older."""


def is_older(version: str, than: str) -> bool:
    """Tell whether a version is older than another; one that cannot be read is older than all.

    Examples
    --------
    >>> is_older("0.9.1", than="0.10.0"), is_older("1.0", than="1.0")
    (True, False)
    """
    return _numbers(version) < _numbers(than)


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() and len(part) < 10 for part in parts) else ()
