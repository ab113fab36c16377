"""What can be chosen by name: each such thing enters its name itself, beside its definition."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from flower_pansvm.errors import SettingError
from flower_pansvm.setting_values import check_choice

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Things of one kind by name, in the order of their names.

    Parameters
    ----------
    kind : str
        What they are, in the singular, for error texts: ``strategy``.

    Examples
    --------
    >>> shapes: Registry[type] = Registry("shape")
    >>> @shapes.register("round")
    ... class Round: ...
    >>> shapes["round"].__name__
    'Round'
    >>> shapes["rond"]
    Traceback (most recent call last):
    flower_pansvm.errors.SettingError: There is no shape 'rond'. Did you mean 'round'?
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._found: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that enters a thing under a name.

        Raises
        ------
        SettingError
            If the name is taken.
        """

        def enter(thing: T) -> T:
            if name in self._found:
                raise SettingError(
                    f"There are two of the {self.kind} '{name}': {_place(self._found[name])} and {_place(thing)}. "
                    "Give one of them another name."
                )
            self._found[name] = thing
            return thing

        return enter

    def __getitem__(self, name: str) -> T:
        """Return what has the name.

        Raises
        ------
        SettingError
            If nothing has; the text names the near matches.
        """
        check_choice(self.kind, name, self._found)
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        """Tell whether something has the name."""
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        """Go through the names in order."""
        return iter(sorted(self._found))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._found)


def _place(thing: object) -> str:
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', repr(thing))}".lstrip(".")
