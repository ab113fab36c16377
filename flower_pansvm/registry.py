"""What can be chosen by name: a literal table says what there is here, and other packages add to it by entry points."""

from collections import UserDict
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from itertools import chain
from pkgutil import resolve_name
from typing import Any, TypeVar

from flower_pansvm.constraints import near_matches
from flower_pansvm.errors import SettingError

T = TypeVar("T")


class Registry(UserDict[str, T]):
    """Things of one kind by name, in the order of their names; each is imported when it is asked for.

    Parameters
    ----------
    kind : str
        A word in the singular, for error texts.
    table : mapping of str to str
        The place of each thing by its name: ``"module:attribute"``.
    group : str
        Group of the entry points by which installed packages add to it; none if it is empty.

    Examples
    --------
    >>> shapes: Registry[type] = Registry("shape", {"fraction": "fractions:Fraction"})
    >>> shapes["fraction"].__name__
    'Fraction'
    >>> shapes["fracton"]
    Traceback (most recent call last):
    flower_pansvm.errors.SettingError: There is no shape 'fracton'. Did you mean 'fraction'?
    """

    def __init__(self, kind: str, table: Mapping[str, str], group: str = "") -> None:
        super().__init__()
        self.data: dict[str, Any] = {**table}
        self.kind, self.group = kind, group

    def __getitem__(self, name: str) -> T:
        """Return the thing of a name; SettingError, which names the near matches, if there is none."""
        found = self.data.get(name) or self.places().get(name)
        if found is None:
            raise SettingError(f"There is no {self.kind} '{name}'. {near_matches(name, self.places())}")
        thing: T = resolve_name(found) if isinstance(found, str) else found
        return thing

    def name_of(self, thing: type) -> str | None:
        """Return the name of a class; None if it has none."""
        places = (thing, f"{thing.__module__}:{thing.__qualname__}")
        by_place = (name for name, place in self.places().items() if place in places)
        # An entry point may name a package that has it from one of its modules.
        return next(chain(by_place, (name for name in self if self[name] is thing)), None)

    def places(self) -> dict[str, Any]:
        """Return the places of all that there is, by name; SettingError if a package adds a name that is taken."""
        added = _installed(self.group) if self.group else ()
        taken = [(name, place) for name, place in added if name in self.data]
        taken += [row for index, row in enumerate(added) if row[0] in dict(added[:index])]
        if taken:
            raise SettingError(
                f"There are two of the {self.kind} '{taken[0][0]}', and an installed package has one of them: "
                f"{taken[0][1]}. Uninstall that package, or ask its author for another name."
            )
        return {**self.data, **dict(added)}

    def __contains__(self, name: object) -> bool:
        """Return whether there is a thing of a name."""
        return name in self.data or name in self.places()

    def __len__(self) -> int:
        """Return how many things there are."""
        return len(self.places())

    def __iter__(self) -> Iterator[str]:
        """Go through the names in order."""
        return iter(sorted(self.places()))


@cache
def _installed(group: str) -> tuple[tuple[str, str], ...]:
    """Return names and places that installed packages have in a group of entry points."""
    return tuple((point.name, point.value) for point in entry_points(group=group))
