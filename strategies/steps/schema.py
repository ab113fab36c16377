"""The common columns and classes of all sites of a federation."""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from flower_pansvm.constraints import near_matches
from flower_pansvm.errors import SettingError, TableError
from flower_pansvm.labels import MOST_CLASSES, SPELLING, spelling
from flower_pansvm.lists import join_list
from flower_pansvm.schema import LIBSVM_COLUMN, Schema
from flower_pansvm.table_schema import TableSchema

# fmt: off
USUALLY_NEGATIVE = frozenset({
    "-1", "0", "absence", "absent", "alive", "asymptomatic", "benign", "benigno", "bénin", "clear", "cn", "control",
    "controls", "ctl", "ctrl", "discharged", "free", "frisk", "gesund", "gezond", "gutartig", "hc", "healed",
    "healthy", "kein", "keine", "kontrolle", "lebend", "lebt", "low", "lowrisk", "nao", "nc", "nee", "negativ",
    "negativo", "nein", "nej", "nem", "never", "nie", "nil", "non", "none", "norm", "normal", "not", "nothing", "não",
    "négatif", "reference", "sain", "sano", "sobreviviente", "survivant", "survived", "survivor", "temoin", "témoin",
    "unaffected", "unauffällig", "viva", "vivant", "vivante", "vivo", "well", "wildtype", "wt", "überlebend",
    "überlebt", "нет",
})
# fmt: on
"""Labels of patients without the condition, as :func:`spelling` returns them."""

NEGATED = re.compile(
    r"(no|non|not|without|kein|keine|nicht|ohne|sans|sem|senza|sin|un|nein|não|absen[ct]e?|alive|asymptomatic|benign|"
    r"controls?|ctr?l|gesund|healthy|kontrolle|low|neg(ative)?\.?|never|none|normal|reference|survived|survivor|"
    r"unaffected|wild|0)"
    r"[ _(:=-].*\S.*|non[a-z]{4,}.*|[a-z]+[ _-](0|free)",
    re.IGNORECASE,
)
"""Labels that begin with such a word, or end like *grade 0* and *relapse-free*."""


def is_usually_negative(label: str) -> bool:
    """Return whether a label most likely means that a patient does not have the condition.

    Examples
    --------
    >>> [is_usually_negative(label) for label in ("Healthy donor", "no relapse", "non-responder", "grade 0", "-1")]
    [True, True, True, True, True]
    >>> [is_usually_negative(label) for label in ("1", "malignant", "grade 10", "clear cell", "2")]
    [False, False, False, False, False]
    """
    return spelling(label) in USUALLY_NEGATIVE or NEGATED.fullmatch(label.strip()) is not None


def names_show_positive(classes: Sequence[str]) -> bool:
    """Return whether the names of two classes show which is positive: exactly one is usually negative."""
    return sum(map(is_usually_negative, classes)) == 1


def common_schema(
    columns: Mapping[str, Sequence[str]],
    classes: Mapping[str, Sequence[str]],
    positive_labels: Sequence[str] = (),
    absent_is_zero: Collection[str] = (),
) -> Schema:
    """Return the common schema of all sites.

    Of two classes the last is the positive one: the one that counts as positive, otherwise the last in order, but not
    one such as *healthy* or *control*. The columns have the order of the first site by name. If that site lacks any, it
    holds LIBSVM text, and the columns have the order of their numbers.

    Parameters
    ----------
    columns, classes : mapping of site name to sequence of str
        Columns and classes of each site. The order of columns may differ; a class may be missing at a site.
    positive_labels : sequence of str
        Labels that count as positive.
    absent_is_zero : collection of str
        Names of the sites with LIBSVM text, where a missing column ``f<number>`` is all zero.

    Raises
    ------
    TableError
        If a site lacks a column that another site has, two classes differ only in their spelling, or there are
        fewer than two classes or more than `MOST_CLASSES`.
    """
    _check_columns(columns, absent_is_zero)
    _check_spellings(classes)
    class_names = {name for names in classes.values() for name in names}
    _check_number(class_names, positive_labels)
    all_columns = {column for names in columns.values() for column in names}
    ordered_columns = list(columns[min(columns)])
    if len(ordered_columns) < len(all_columns):
        # f2 before f10: a smaller number is a shorter text, or of the same length and first in the alphabet.
        ordered_columns = sorted(all_columns, key=lambda column: (len(column), column))
    ordered = sorted(class_names, key=_natural)
    if len(ordered) == 2 and is_usually_negative(ordered[1]) and names_show_positive(ordered):
        ordered.reverse()
    return Schema(tuple(ordered_columns), tuple(ordered), tuple(positive_labels))


def _check_columns(columns: Mapping[str, Sequence[str]], absent_is_zero: Collection[str]) -> None:
    """Check that no site lacks a column of another."""
    all_columns = {column for names in columns.values() for column in names}
    for site in sorted(columns):
        missing = sorted(all_columns - set(columns[site]))
        if site in absent_is_zero:
            missing = [column for column in missing if not LIBSVM_COLUMN.fullmatch(column)]
        if missing:
            owner = next(name for name in sorted(columns) if missing[0] in columns[name])
            hint = near_matches(missing[0], columns[site]) if len(columns[site]) <= 1000 else ""
            raise TableError(
                f"Site '{site}' has no column '{missing[0]}', which site '{owner}' has"
                f"{f' (and {len(missing) - 1} more columns are missing)' if len(missing) > 1 else ''}. All sites "
                f"need the same columns: add it at '{site}' (empty cells are allowed), or remove it elsewhere. "
                f"If it has another name there: {hint}".rstrip(": ")
            )


def _check_number(names: Collection[str], positive_labels: Sequence[str]) -> None:
    """Check that there are at least two classes, and not too many."""
    if len(names) < 2:
        text = f"only the class '{next(iter(names))}'" if names else "no class"
        reason = " Do the labels in 'positive' occur in the tables?" if positive_labels else ""
        raise TableError(
            f"All sites together name {text}, but a classifier needs two.{reason} Check the label column. A "
            "hospital names a class only if at least min-cluster of its rows have it, or if the 'classes' of its "
            "node config do."
        )
    if len(names) > MOST_CLASSES:
        raise TableError(
            f"All sites together name {len(names)} classes, and at most {MOST_CLASSES} can be trained. Is the "
            "label column the right one at every site? If so, name the labels that count as positive in the "
            "setting 'positive', which merges all classes into two."
        )


def _check_spellings(classes: Mapping[str, Sequence[str]]) -> None:
    """Check that no two classes are the same class in two spellings."""
    spellings: dict[str, tuple[str, str]] = {}
    for site in sorted(classes):
        for name in sorted(classes[site]):
            owner, other = spellings.setdefault(spelling(name), (site, name))
            if name != other:
                both = join_list([other, name])
                raise TableError(
                    f"Site '{owner}' has the class '{other}' and site '{site}' the class '{name}'. They differ only "
                    f"{SPELLING}, and most likely mean the same. Spell the label alike at all sites, or merge both "
                    f"with the setting positive, such as positive='{both}': all other labels are then the other class."
                )


def check_rows_per_patient(rows_per_patient: int, schema: TableSchema | None) -> None:
    """Check that ``rows_per_patient`` is above 1 only with a patient-id; SettingError otherwise.

    Without one each row counts as a patient, and the noise would be larger for nothing.
    """
    if rows_per_patient > 1 and not (schema and schema.patient_id):
        raise SettingError(
            f"rows-per-patient is {rows_per_patient}, but no schema file names a patient-id: each row is a patient. "
            "Write patient-id into the schema file, at all sites; or leave rows-per-patient at 1."
        )


def _natural(name: str) -> tuple[int, float, str]:
    try:
        value = float(name)
    except ValueError:
        value = math.nan
    # "nan" is a text here: it has no order among numbers.
    return (1, 0.0, name) if math.isnan(value) else (0, value, name)


def agreed_schema(digests: Mapping[str, str], path: str) -> TableSchema | None:
    """Return the schema file of sites and run, None without one.

    Parameters
    ----------
    digests : mapping of site name to str
        Digest of each site's schema file, empty without one.
    path : str
        The run's schema file; empty without one. Sites need none if the run's has only ranges and classes.

    Raises
    ------
    SettingError
        If the files of two sites, or of a site and the run, differ.
    """
    run = TableSchema.read(Path(path)) if path else None
    having = [digest for digest in digests.values() if digest]
    if not having and (run is None or not run.changes_cells):
        return None
    wanted = run.digest if run else Counter(having).most_common(1)[0][0]
    owners, other = ("the run has", "the run's") if run else ("other sites have", "most other sites'")
    for site, digest in sorted(digests.items()):
        if not digest:
            raise SettingError(
                f"Site '{site}' has no schema file, but {owners} one. "
                "Give it the same file, and name it in its node config: schema='/an/absolute/path'."
            )
        if digest != wanted:
            raise SettingError(
                f"The schema file of site '{site}' differs from {other}. Give the same file to all sites "
                "and to the run."
            )
    if run is None:
        raise SettingError(
            "The sites read their tables by a schema file, which the model must contain, but the run does not name it. "
            "Start the run with the same file, schema='/an/absolute/path'."
        )
    return run
