"""What can be chosen by name: each such thing enters its name itself, beside its definition."""

from collections import UserDict
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeVar

from flower_pansvm.constraints import near_matches
from flower_pansvm.errors import SettingError

T = TypeVar("T")


class Registry(UserDict[str, T]):
    """Things of one kind by name, in the order of their names; the kind is a word in the singular, for error texts.

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
        super().__init__()
        self.kind = kind

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that enters a thing under a name; SettingError if the name is taken."""

        def enter(thing: T) -> T:
            if name in self.data:
                raise SettingError(
                    f"There are two of the {self.kind} '{name}': {_place(self.data[name])} and {_place(thing)}. "
                    "Give one of them another name."
                )
            self.data[name] = thing
            return thing

        return enter

    def __missing__(self, name: str) -> T:
        """Raise a SettingError that names the near matches."""
        raise SettingError(f"There is no {self.kind} '{name}'. {near_matches(name, self.data)}")

    def __iter__(self) -> Iterator[str]:
        """Go through the names in order."""
        return iter(sorted(self.data))


def _place(thing: object) -> str:
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', repr(thing))}".lstrip(".")


def import_modules(package: str) -> None:
    """Import every module of a package, so that what they hold is in its registry.

    Parameters
    ----------
    package : str
        Name of the package: ``flower_pansvm.models``.
    """
    for module in iter_modules(import_module(package).__path__, f"{package}."):
        import_module(module.name)
