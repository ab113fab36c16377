"""What can be chosen by name: a literal table says what there is here, and other packages add to it by entry points."""

from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import EntryPoint, entry_points
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
    fits : callable
        Tells whether what a package adds is one of these things.
    needs : tuple of str
        Attributes that it must have besides.

    Examples
    --------
    >>> shapes: Registry[type] = Registry("shape", {"fraction": "fractions:Fraction"})
    >>> shapes["fraction"].__name__
    'Fraction'
    >>> shapes["fracton"]
    Traceback (most recent call last):
    flower_pansvm.errors.SettingError: There is no shape 'fracton'. Did you mean 'fraction'?
    """

    def __init__(
        self,
        kind: str,
        table: Mapping[str, str],
        group: str = "",
        fits: Callable[[Any], bool] = callable,
        needs: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        self.data: dict[str, Any] = {**table}
        self.kind, self.group, self.fits, self.needs = kind, group, fits, needs

    def __getitem__(self, name: str) -> T:
        """Return the thing of a name; SettingError if there is none, with the near matches, or it cannot be loaded."""
        entry = self.data.get(name) or self._added().get(name)
        if entry is None:
            raise SettingError(f"There is no {self.kind} '{name}'. {near_matches(name, self.places())}")
        if isinstance(entry, EntryPoint):
            entry = self._load(entry)
        thing: T = resolve_name(entry) if isinstance(entry, str) else entry
        return thing

    def _load(self, point: EntryPoint) -> Any:
        try:
            thing, detail = point.load(), ""
            why = self._misfit(thing, point.name)
        except (Exception, SystemExit) as error:  # anybody's module
            why, detail = type(error).__name__, str(error)
        if why:
            package = point.dist.name if point.dist else "an installed package"
            raise SettingError(
                f"The {self.kind} '{point.name}' of {package}, {point.value}, cannot be loaded: {why}. Install "
                "another version of that package, or uninstall it.",
                detail,
            )
        return thing

    def _misfit(self, thing: Any, name: str) -> str:
        """Return why what a package adds by a name cannot be used; an empty text if it can."""
        if not self.fits(thing):
            return f"it is no {self.kind}"
        missing = [key for key in self.needs if not hasattr(thing, key)]
        if lacking := sorted([*getattr(thing, "__abstractmethods__", ()), *missing]):
            return f"it lacks {', '.join(lacking)}"
        own = getattr(thing, "name", name)
        return "" if own == name else f"it calls itself '{own}'"

    def name_of(self, thing: type) -> str | None:
        """Return the name of a class; None if it has none."""
        places = (thing, f"{thing.__module__}:{thing.__qualname__}")
        by_place = next((name for name, target in self.places().items() if target in places), None)
        # An entry point may name a package that has it from one of its modules.
        return by_place or next((name for name in self if self._is(name, thing)), None)

    def _is(self, name: str, thing: type) -> bool:
        with suppress(SettingError):
            return self[name] is thing
        return False

    def places(self) -> dict[str, Any]:
        """Return the places of all that there is, by name; SettingError if a package adds a name that is taken."""
        return {**self.data, **{name: point.value for name, point in self._added().items()}}

    def _added(self) -> dict[str, EntryPoint]:
        added = _installed(self.group) if self.group else ()
        for point in added:
            same = [f"{one.dist and one.dist.name} ({one.value})" for one in added if one.name == point.name]
            if len(same) > 1 or point.name in self.data:
                raise SettingError(
                    f"There are two of the {self.kind} '{point.name}', by installed packages: {', '.join(same)}. "
                    "Uninstall one, or ask its author for another name."
                )
        return {point.name: point for point in added}

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
def _installed(group: str) -> tuple[EntryPoint, ...]:
    """Return what installed packages have in a group of entry points."""
    return tuple(entry_points(group=group))
