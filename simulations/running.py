"""One training run on either engine: check the data, run, and leave a folder with everything in it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from clients.checking.patients import FEW, another_in_every_row
from clients.label_check import check_labels
from clients.perturb.kept import FEWEST_RECORDS
from clients.table.table import Table
from flower_pansvm.constraints import near_matches
from flower_pansvm.errors import SettingError
from flower_pansvm.labels import MOST_CLASSES, plain_name
from flower_pansvm.result_file import read_result, write_result
from flower_pansvm.table_schema import TableSchema
from flower_pansvm.terms import Scalar
from simulations.data.datasets import locate
from simulations.data.partition import CHECKERBOARD, checkerboard
from simulations.data.pooling import schema_of_tables
from simulations.data.sites import form_of, label_place, number_of_sites, whole_rows_of
from simulations.engines.flower_engine import run_on_flower
from simulations.engines.flower_log import lines_to
from simulations.engines.in_process import in_process_grid
from strategies.app import run as run_strategy
from strategies.federation.checkpoint import config_before
from strategies.federation.transcript import remove_transcript
from strategies.registry import STRATEGIES, check_classes, usable
from strategies.settings import SEPARATOR, Settings, settings_from
from strategies.steps.schema import check_rows_per_patient
from strategies.steps.subgroups import groups_by

ENGINES = ("simulation", "in-process")
RESUMED_WITH = ("timeout", "min-sites")
"""Settings that may change when a run is resumed."""


def resumed(folder: Path, changed: Mapping[str, Scalar] = MappingProxyType({})) -> Settings:
    """Return the settings that resume a folder's stopped run; those of `RESUMED_WITH` may change.

    SettingError if the folder has no checkpoint, or another setting would change.
    """
    before = config_before(folder)
    fixed = [key for key in changed if key not in RESUMED_WITH]
    if fixed:
        raise SettingError(
            f"A resumed run keeps its settings, except {' and '.join(RESUMED_WITH)}. Leave out "
            f"{', '.join(fixed)}, or start a new run."
        )
    return settings_from({**before, **changed, "out": str(folder.absolute()), "resume": True})


def check(settings: Settings) -> None:
    """Check data and strategy of a run before it starts; PanSVMError if they do not fit."""
    check_strategy(settings, check_data(settings))


def check_strategy(settings: Settings, classes: Sequence[str]) -> None:
    """Check that a strategy can train on these classes, split and patients; SettingError if it cannot."""
    of_columns = settings.split.startswith(CHECKERBOARD) and checkerboard(settings.split)[1] > 1
    if of_columns and not STRATEGIES[settings.strategy].by_columns:
        able = [name for name in usable(STRATEGIES) if STRATEGIES[name].by_columns]
        raise SettingError(
            f"The split gives each site a block of columns, and the strategy {settings.strategy} needs all columns. "
            f"Choose one of {', '.join(able)}; or one block of columns, such as checkerboard:4x1."
        )
    check_rows_per_patient(settings.rows_per_patient, form_of(settings).schema)
    check_classes(settings.strategy, classes)


def check_data(settings: Settings) -> tuple[str, ...]:
    """Read every site's table once and return the classes.

    PanSVMError if a table cannot be read, the tables do not fit together, or the split cannot be made.
    """
    if settings.min_sites > settings.sites:
        raise SettingError(
            f"min-sites is {settings.min_sites}, but there are {settings.sites} sites. Add sites, or lower min-sites."
        )
    tables, positive, labels_of = whole_rows_of(settings), settings.positive_labels, defaultdict(list)
    for site, table in enumerate(tables):
        labels = table.labels if table.labels is not None else np.empty(0, dtype=np.str_)
        labels_of[label_place(settings, site)].append(labels)
    for column, parts in labels_of.items():
        # A site of a partitioned data set may have few enough patients for their names to pass as classes.
        check_labels(np.concatenate(parts), positive, column, least=1)
    if settings.positive:  # no row may have a label of the schema file
        _check_positive(
            positive, np.unique(np.concatenate([labels for parts in labels_of.values() for labels in parts]))
        )
    schema = schema_of_tables(tables, positive)
    if settings.by:
        described = TableSchema.read(Path(settings.schema)).columns if settings.schema else ()
        groups_by(settings.by, schema.columns, described)
    return schema.classes


def doubts_of(settings: Settings) -> list[str]:
    """Return warnings about each file of a run, at most three, and about all of them together."""
    form, together, tables = form_of(settings), [], whole_rows_of(settings)
    patients = [table.patients for table in tables if table.patients is not None]
    rows = sum(map(len, patients))
    if settings.level == "perturbed" and min(len(table.X) for table in tables) < FEWEST_RECORDS:
        together = [
            f"some sites have fewer than {FEWEST_RECORDS} records. Such a hospital is refused at level perturbed: its "
            "copy could not be begun"
        ]
    # One site alone may have a row a patient while others have several.
    if form.schema and rows >= FEW and all(len(np.unique(ids)) == len(ids) for ids in patients):
        together += [f"patient-id {another_in_every_row(form.schema.patient_id, rows)}"]
    if settings.split.startswith("by:"):
        form = replace(form, drop=(*form.drop, plain_name(settings.split.removeprefix("by:"))))
    folder = Path(settings.data_dir) if settings.data_dir else None
    paths = [path for source in settings.data.split(SEPARATOR) if (path := locate(source, folder))]
    if len(paths) > 1:
        together += _at_several_sites(tables)
    if not paths:
        return together
    from clients.checking.findings import table_warnings  # noqa: PLC0415 - of files, and its imports take a while

    files_with = defaultdict(list)
    for path in paths:
        for text in table_warnings(path, settings.label or None, form):
            files_with[text].append(path.name)
    return [*together, *(f"{', '.join(names)}: {text}" for text, names in files_with.items())]


def _at_several_sites(tables: Sequence[Table]) -> list[str]:
    """Return a warning of patients in several sites' files, which a check of each file cannot see; none without."""
    from clients.checking.copies import copies_between_sites  # noqa: PLC0415 - as in doubts_of

    columns = [name for name in tables[0].columns if all(name in table.columns for table in tables)]
    rows = np.vstack([table.X[:, [table.columns.index(name) for name in columns]] for table in tables])
    twice = copies_between_sites(rows, np.repeat(np.arange(len(tables)), [len(table.X) for table in tables]))
    text = (
        f"{twice} of {len(rows)} rows are the same in all features as one of another file. If patients are in several "
        "files, take the copies out: one copy may be trained on, the other tested on, and hospitals would not notice."
    )
    return [text] if twice else []


def _check_positive(positive: Sequence[str], labels: Iterable[str]) -> None:
    """Raise a SettingError if a positive label is in no table, for instance misspelt."""
    known = list(map(str, labels))
    missing = [label for label in positive if label not in known]
    if missing and len(known) <= MOST_CLASSES:
        quoted = " A label that holds a comma stands in double quotes." * any("," in label for label in known)
        raise SettingError(
            f"No row of any site has the positive label '{missing[0]}'. "
            f"{near_matches(missing[0], known)}{quoted}"
        )


def with_sites_of_data(settings: Settings) -> Settings:
    """Return the settings with the data's number of sites, if the data determine it."""
    return replace(settings, sites=number_of_sites(settings))


def run(
    settings: Settings,
    engine: str,
    show: Callable[[str], None],
    *,
    audit: str = "sums",
    minutes: float = 0.0,
    also: Sequence[Path] = (),
    doubts: Sequence[str] = (),
    finished: Callable[[Path], None] = lambda _: None,
) -> Path:
    """Train, evaluate and audit, write ``result.json``, ``model.npz`` and ``report.html``, and return their folder.

    The settings' ``out`` is an absolute path. ``engine`` is one of `ENGINES`; ``show`` receives each line of progress.
    ``audit`` is ``sums``, ``attack`` (for so many minutes, ``also`` with the records of other runs of the same sites)
    or ``record``, which keeps the sums for the audit of a later run. ``doubts``, warnings about the tables, stand in
    result and report, too. ``finished`` is called with the folder before the
    report, whose plots take seconds. PanSVMError if the run fails.
    """
    folder = Path(settings.out)

    def report() -> None:
        from strategies.report.page import write_report  # noqa: PLC0415 - not before the training

        try:
            _add_to_result(folder, {"table_warnings": list(doubts)})
            if settings.audit and audit != "record":
                _audit(settings, folder, show, minutes if audit == "attack" else 0.0, also)
            finished(folder)
        finally:
            # The run itself has succeeded, even if the audit fails.
            write_report(folder)

    if engine == "in-process":
        with lines_to(show):
            run_strategy(in_process_grid(settings), settings, folder)
        report()
    else:
        run_on_flower(settings.run_config, settings.sites, show, report)
    return folder


def _audit(
    settings: Settings, folder: Path, show: Callable[[str], None], minutes: float, also: Sequence[Path]
) -> None:
    """Audit a finished run, attack it for ``minutes`` if above 0, and delete its transcript."""
    from simulations.attack.attack import attack  # noqa: PLC0415 - few runs are audited
    from simulations.attack.audit import audit  # noqa: PLC0415

    try:
        findings = audit(settings, folder)
        show(str(findings))
        _add_to_result(folder, {"audit": findings.entries})
        if minutes:
            attacked = attack(settings, folder, minutes, show, also)
            show(str(attacked))
            _add_to_result(folder, {"attack": asdict(attacked)})
    finally:
        remove_transcript(folder)


def _add_to_result(folder: Path, findings: Mapping[str, Any]) -> None:
    """Add entries, such as those of an audit, to a run's ``result.json``."""
    write_result(folder, {**read_result(folder), **findings})
