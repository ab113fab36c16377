"""Likely mistakes of single sites: differences from the others in what the sites have disclosed."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.lists import first_of
from strategies.federation.federation import Federation

MOST_NOTED = 3
"""Most sentences of a kind; further differences are counted."""

MOST_NAMES = 5

MOSTLY = 0.6
"""Least share of a site's largest class for which the site is compared with others."""


def note_differences(federation: Federation, differences: Sequence[str]) -> None:
    """Log the first differences and keep them for the result, with the number of the others."""
    more = len(differences) - MOST_NOTED
    for text in differences[:MOST_NOTED]:
        federation.note_difference(text)
    if more > 0:
        federation.note_difference(f"{more} more such difference{'s' * (more > 1)} between sites")


def class_differences(named: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence for each group of sites whose coding of classes may differ from the others'.

    Parameters
    ----------
    named : mapping of site name to sequence of str
        The classes that each site disclosed when it joined. A site without any is not compared.

    Examples
    --------
    >>> class_differences({"a": ["0", "1"], "b": ["0", "1"], "c": ["1", "2"]})
    ['c alone names 2 and never 0: is it coded otherwise?']
    >>> class_differences({"a": ["0", "1"], "b": ["0", "1"], "c": ["0", "1", "7"]})
    ['c alone names 7: is it coded otherwise, misspelt, or too rare elsewhere for a schema file without classes?']
    >>> class_differences({"a": ["0", "1"], "b": ["0", "1", "2"], "c": ["0", "1", "2"]})
    []
    """
    sites = sorted(site for site, classes in named.items() if classes)
    owners: dict[tuple[str, ...], list[str]] = {}
    for name in sorted({name for site in sites for name in named[site]}):
        having = tuple(site for site in sites if name in named[site])
        owners.setdefault(having, []).append(name)
    return [text for having, only in owners.items() for text in _of_group(having, only, sites, owners)]


def _of_group(
    having: tuple[str, ...],
    only: list[str],
    sites: list[str],
    owners: Mapping[tuple[str, ...], list[str]],
) -> Iterator[str]:
    """Yield a sentence about the sites ``having`` the classes ``only``, if the others are the majority."""
    others = tuple(site for site in sites if site not in having)
    never = owners.get(others, [])
    # Of two halves that differ, one gets a sentence.
    if not others or len(having) > len(others) or (len(having) == len(others) and never and having > others):
        return
    alone = f"{_some(having)} alone name{'s' * (len(having) == 1)} {_some(only)}"
    if never:
        yield f"{alone} and never {_some(never)}: is it coded otherwise?"
    elif len(having) == 1 and len(others) > 1:
        yield f"{alone}: is it coded otherwise, misspelt, or too rare elsewhere for a schema file without classes?"


def range_differences(columns: Sequence[str], extremes: Mapping[str, tuple[Floats, Floats]]) -> list[str]:
    """Return a sentence for each site and column whose range does not overlap that of all others.

    Parameters
    ----------
    extremes : mapping of site name to (ndarray, ndarray), each of shape (features,)
        Smallest and largest cell of each feature at each of at least two sites; infinite without cells.

    Examples
    --------
    >>> low, high = np.array([[3.0], [4.0], [120.0]]), np.array([[8.0], [9.0], [320.0]])
    >>> range_differences(["glucose"], dict(zip("abc", zip(low, high))))
    ["all numbers of c in column 'glucose' are above those of all other sites: are they in another unit?"]
    """
    names = sorted(extremes)
    low, high = (np.stack([extremes[name][end] for name in names]) for end in (0, 1))
    # A constant column, such as a yes/no that is the same for all patients, has no unit.
    varies = low < high
    low, high = np.where(varies, low, np.inf), np.where(varies, high, -np.inf)
    sentences = []
    for i, name in enumerate(names):
        others = np.arange(len(names)) != i
        above, below = low[i] > high[others].max(axis=0), high[i] < low[others].min(axis=0)
        # Of two sites, one gets a sentence.
        comparable = varies[i] & (varies[others].sum(axis=0) > (i == 0))
        sentences += [
            f"all numbers of {name} in column '{columns[column]}' are {where} those of all other sites: are they in "
            "another unit?"
            for where, mask in (("above", above), ("below", below))
            for column in np.flatnonzero(mask & comparable).tolist()
        ]
    return sentences


def share_differences(classes: Sequence[str], rows: Mapping[str, Floats]) -> list[str]:
    """Return a sentence for each site whose largest class differs from the largest of all others.

    Parameters
    ----------
    rows : mapping of site name to ndarray of shape (classes,)
        Rows of each class at each site.

    Examples
    --------
    >>> rows = {"a": np.array([30.0, 9.0]), "b": np.array([25.0, 5.0]), "c": np.array([8.0, 40.0])}
    >>> share_differences(("0", "1"), rows)
    ["most rows of c are of class '1', and most of each other site of class '0': is it coded the other way round?"]
    """
    majority = {
        site: int(np.argmax(counts))
        for site, counts in sorted(rows.items())
        if counts.max() > MOSTLY * counts.sum()
    }
    sentences = []
    for site, largest in majority.items():
        others = {majority[other] for other in majority if other != site}
        if len(majority) > 2 and len(others) == 1 and largest not in others:
            sentences.append(
                f"most rows of {site} are of class '{classes[largest]}', and most of each other site of class "
                f"'{classes[others.pop()]}': is it coded the other way round?"
            )
    return sentences


def _some(names: Sequence[str]) -> str:
    return first_of(names, MOST_NAMES)
