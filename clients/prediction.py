"""Predictions of a saved model of any kind for the rows of a file."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd

from clients.checking.cells import cells_of
from clients.ledger.lasting_split import lasting_secret
from clients.table.cells import canonical_labels
from clients.table.file import OTHER_SUFFIXES, SOURCES, read_frame, suffix_of
from clients.table.form import AS_IT_IS, TableForm, nearest_text
from clients.table.reading import label_of, table_from_frame, without_dropped
from clients.table.simulated import simulated_hospitals
from clients.table.sources.rows import EMPTY_ROWS
from clients.table.table import align, columns_text
from clients.unknown_cells import known_cells
from flower_pansvm.arrays import Bools, Ints
from flower_pansvm.counts import confusion_counts, patient_squares
from flower_pansvm.errors import ModelFileError, SettingError, TableError, install
from flower_pansvm.labels import misspelt, plain_name
from flower_pansvm.models.model import Model, load_model
from flower_pansvm.models.random_kernel_svc import NEEDS_SITES, RandomKernelSVC
from flower_pansvm.result_file import ONCE_MORE, RESULT_FILE, read_result
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from flower_pansvm.shares import Share, all_right
from flower_pansvm.systems.random_kernel import block_seed, matrix_digest, random_matrix
from flower_pansvm.table_schema import NUMBER, TableColumn, TableSchema
from flower_pansvm.thresholds import Limit, caution_of, limit_of, result_of

NO_LABEL, NO_CLASS = -1, -2

FAR, LEAST = 3.0, 5
"""Standard deviations of the training between its mean and the median of a file's column above which they differ, and
fewest cells of which this is said."""


@dataclass(frozen=True)
class Predictions:
    """What a model says about the rows of a file."""

    # One line per row: its id if a column of ids is named, ``prediction``, then ``decision`` or, with several
    # classes, ``decision_CLASS`` if the model has decision values, then ``probability_CLASS`` if it gives
    # probabilities; then ``unknown``, the columns whose cells the model does not know, if any row has such
    # cells. A row that is not predicted has empty cells.
    frame: pd.DataFrame
    # Rows predicted right, of those that are predicted and have a label that is a class; None if no row is.
    right: Share | None
    # Columns of the file that the model does not need, such as features that a selection has removed.
    unused: tuple[str, ...]
    # By column, the data rows, counted from 1, whose cell the model does not know.
    unknown: dict[str, tuple[int, ...]] = field(default_factory=dict)
    not_predicted: tuple[int, ...] = ()  # the data rows that are not predicted: none of their cells is known
    # unlabelled, no_class: rows without a label, and rows whose label is no class of the model, where the
    # file has a label column.
    unlabelled: int = 0
    no_class: int = 0
    # Columns of which nobody knows whether points or commas are for decimals, as they were read, or thousands.
    ambiguous: tuple[str, ...] = ()
    # Rows without any cell, or with the names again, between the others: they have no prediction.
    empty: int = 0
    # From what probability or decision value on the positive class is predicted, in words.
    threshold: str = ""
    caution: str = ""  # what to keep in mind of the probabilities
    contradicted: int = 0  # rows that are predicted as another of several classes than the most probable one
    seen: bool = False  # whether the run that made the model was given a file of this name
    far: tuple[str, ...] = ()  # columns of numbers that are far from those of the training
    lacks_patients: str = ""  # the column of patients' ids, if the schema file names one that the file lacks


def predict_file(
    model_path: Path,
    table_path: Path,
    label: str | None,
    row_id: str | None = None,
    form: TableForm = AS_IT_IS,
    threshold: float | None = None,
    sensitivity: float | None = None,
) -> Predictions:
    """Predict the rows of a file; a cell that the model does not know counts as missing.

    Parameters
    ----------
    model_path : Path
        A ``model.npz`` of any kind.
    table_path : Path
        A table with the columns the model was trained on, in any order; whatever else it holds is not looked at. If the
        sites had a schema file, the model remembers it, and the table is one as theirs: with categories.
    label : str or None
        Label column; by default the schema file's, or ``label``, if there is such a column.
    row_id : str or None
        Column that says who a row is, which comes first in the result.
    form : TableForm
        How a CSV file is written.
    threshold : float, optional
        Probability from which on the positive class is predicted; by default the sign of the decision value decides.
    sensitivity : float, optional
        Share of the test rows with the positive class that the threshold found, instead of the threshold itself.

    Raises
    ------
    SettingError
        If the model cannot be used with such a threshold.
    ModelFileError
        If the model cannot be read, or the run has made none.
    TableError
        If the rows cannot be read, a column is missing, or most cells of a column are unknown.
    """
    model = _model_of(model_path)
    result = result_of(model, model_path.parent)
    limit = limit_of(model, result, threshold, sensitivity)
    schema, name = model.schema_, table_path.name
    frame = without_dropped(read_frame(table_path, form), form.drop, name)
    agreed = TableSchema.from_json(schema.table) if schema.table else None
    if label is not None or label_of(agreed) in frame.columns:
        label = label_of(agreed, label)
    # A selection may need some of the columns only.
    wanted, described = {*schema.columns}, agreed.columns if agreed else map(TableColumn, schema.columns)
    needed = {column.name: column for column in described if wanted & {*column.features}}
    if not any(column in needed for column in frame.columns):
        raise TableError(
            f"'{name}' has none of the columns that the model needs: {columns_text(tuple(needed))}. Name another file, "
            "or correct the names in its first line."
        )
    row_id = row_id and plain_name(row_id)
    frame, empty = frame.reset_index(drop=True), frame.attrs.get(EMPTY_ROWS, 0)
    features = frame[[column for column in frame.columns if column in needed and column != label]]
    unused = tuple(column for column in frame.columns if column not in {*features.columns, label, row_id})
    lacking = [column for column in needed if column not in features.columns]
    if agreed and lacking:
        raise TableError(
            f"'{name}' has no {columns_text(lacking)}, which the model needs. Add each missing column (the cells may "
            "be empty), or correct the name.",
            detail=nearest_text(lacking[0], unused) if unused else "",
        )
    agreed_form = replace(form, drop=(), schema=agreed and replace(agreed, columns=tuple(needed.values())))
    table, cells_unknown = known_cells(features, agreed_form, name)
    numbers = [column for column in needed.values() if column.kind == NUMBER and column.name in frame.columns]
    ambiguous = tuple(c.name for c in cells_of(frame, numbers, form) if c.may_be_grouped)
    there = [name in wanted for name in table.columns]
    names = tuple(name for name in table.columns if name in wanted)
    X = align(replace(table, columns=names, X=table.X[:, there]), schema.columns).X
    cells = pd.DataFrame(X, columns=list(schema.columns))
    skipped = cells.isna().all(axis=1).to_numpy()
    answer = _answer_frame(model, cells, limit)
    predicted = answer["prediction"]
    if skipped.any():
        answer = answer.astype(object).where(~pd.Series(skipped), None)
    if cells_unknown.to_numpy().any():
        answer["unknown"] = ["; ".join(cells_unknown.columns[row]) for row in cells_unknown.to_numpy()]
    if row_id is not None:
        if row_id not in frame.columns:
            detail = nearest_text(row_id, frame.columns)
            raise TableError(f"'{name}' has no column '{row_id}' to tell its rows by.", detail)
        # Its name may be that of another column of the answer.
        answer.insert(0, row_id, frame[row_id].to_numpy(), allow_duplicates=True)
    unknown = {
        str(column): _rows(marked.to_numpy()) for column, marked in cells_unknown.items() if marked.any()
    }
    predictions = Predictions(
        *(answer, None, unused, unknown, _rows(skipped)),
        ambiguous=ambiguous,
        empty=empty,
        threshold=limit.text,
        caution=caution_of(model, result),
        contradicted=_contradicted(answer[~skipped], schema.classes),
        seen=name in str((result.get("config") or {}).get("data", "")).split("|"),
        far=tuple(_far(model, cells, {c.name for c in numbers})),
    )
    if label is None:
        return predictions
    truth = _classes(frame, label, name, agreed_form, schema)
    indices = [schema.classes.index(str(text)) for text in predicted]
    judged = (truth >= 0) & ~skipped
    return replace(
        predictions,
        right=_share_right(truth, np.array(indices), judged, _patients(frame, agreed), len(schema.classes)),
        lacks_patients=agreed.patient_id
        if agreed and agreed.patient_id and agreed.patient_id not in frame.columns
        else "",
        unlabelled=int(np.count_nonzero(truth == NO_LABEL)),
        no_class=int(np.count_nonzero(truth == NO_CLASS)),
    )


def _model_of(path: Path) -> Model:
    """Return a saved model, ready to predict; ModelFileError if the run of its folder was to make none."""
    result = path.parent / RESULT_FILE
    if not path.exists() and result.exists():
        described = read_result(path.parent)
        if described.get("model_sha256") is None:
            raise ModelFileError(
                "There is nothing to predict with: the strategy of this run, "
                f"{described.get('strategy', 'unknown')}, makes no model. {RESULT_FILE} has all that it has found."
            )
    model = load_model(path)
    return with_simulated_matrices(model, result) if isinstance(model, RandomKernelSVC) else model


def _answer_frame(model: Model, cells: pd.DataFrame, limit: Limit) -> pd.DataFrame:
    """Return classes, and decision values and probabilities if the model gives any, a line a row."""
    classes, answer = model.schema_.classes, pd.DataFrame({"prediction": model.predict(cells)})
    if hasattr(model, "decision_function"):
        decisions = model.decision_function(cells)
        names = ["decision"] if decisions.ndim == 1 else [f"decision_{name}" for name in classes]
        answer[names] = decisions.reshape(len(cells), -1)
    if hasattr(model, "predict_proba"):
        answer[[f"probability_{name}" for name in classes]] = model.predict_proba(cells)
    if limit.decision is not None:
        answer["prediction"] = np.where(answer["decision"] >= limit.decision, classes[-1], classes[0])
    if limit.probability is not None:
        probability = answer[f"probability_{classes[-1]}"]
        answer["prediction"] = np.where(probability >= limit.probability, classes[-1], classes[0])
    return answer


def _contradicted(answer: pd.DataFrame, classes: Sequence[str]) -> int:
    """Return the number of rows that are predicted as another of several classes than their most probable one."""
    names = [f"probability_{name}" for name in classes]
    if len(classes) == 2 or names[0] not in answer:
        return 0
    given = answer[names].to_numpy(dtype=np.float64)
    chosen = given[np.arange(len(given)), [classes.index(str(text)) for text in answer["prediction"]]]
    return int(np.count_nonzero(chosen < given.max(axis=1, initial=0.0)))


def _far(model: Model, cells: pd.DataFrame, numbers: Container[str]) -> Iterator[str]:
    """Yield the columns of numbers, but for yes and no, whose median is far from the training's mean.

    Not where a model was trained on columns as they are: it does not know how far the training's cells spread.
    """
    scaling: Scaling | None = getattr(model, "scaling_", None)
    if scaling is None:
        return
    columns = zip(cells.items(), scaling.fill, scaling.shift, scaling.scale, strict=True)
    for (name, values), mean, shift, scale in columns:
        known = values.dropna()
        if str(name) not in numbers or len(known) < LEAST or known.isin((0.0, 1.0)).all():
            continue
        if (shift, scale) != (0.0, 1.0) and abs(float(known.median()) - mean) > FAR * scale:
            yield str(name)


def check_can_write(path: Path) -> None:
    """Check that predictions can be written to a file of such a name; SettingError if not."""
    suffix = suffix_of(path.name)
    known = {*SOURCES, *OTHER_SUFFIXES} - {".csv", ".xlsx", ".txt"}
    if suffix in known or path.name.lower().endswith(".xlsx.gz"):
        raise SettingError(
            f"{path.name} would be CSV under another name. Name a file that ends in .csv or .xlsx."
        )
    if suffix == ".xlsx" and find_spec("openpyxl") is None:
        raise SettingError(f"To write {path.name}, the package openpyxl is needed: {install('excel')}.")


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write predictions as Excel if the file's name ends so, else as CSV."""
    if suffix_of(path.name) == ".xlsx":
        content = BytesIO()  # on a full disk a zip file that is not closed ends with a second error
        frame.to_excel(content, index=False)
        path.write_bytes(content.getvalue())
    else:
        frame.to_csv(path, index=False)


def _classes(frame: pd.DataFrame, label: str, name: str, form: TableForm, schema: Schema) -> Ints:
    """Return the class of each row, `NO_LABEL` or `NO_CLASS`, which is also a label that is spelt otherwise."""
    if label not in frame.columns:
        raise TableError(f"'{name}' has no column '{label}'.", nearest_text(label, frame.columns))
    classes = np.full(len(frame), NO_LABEL)
    there = np.array([text is not None for text in canonical_labels(frame[label])], dtype=np.bool_)
    if there.any():
        # Beside a column of nothing, as labels are read together with features.
        beside = TableColumn("beside" if label != "beside" else "beside it")
        alone = pd.DataFrame({label: frame[label][there], beside.name: 0.0})
        form = replace(form, schema=form.schema and replace(form.schema, columns=(beside,), patient_id=""))
        labels = table_from_frame(alone, label, name, form).labels
        assert labels is not None
        known = (*schema.classes, *schema.positive_labels)
        wrong = np.isin(labels, misspelt(np.unique(labels), schema.positive_labels or known))
        if form.schema and form.schema.classes:  # positive labels alone would make all others negative
            wrong |= ~np.isin(labels, form.schema.classes)
        indices = schema.indices(labels)
        classes[there] = np.where(wrong | (indices < 0), NO_CLASS, indices)
    return classes


def _patients(frame: pd.DataFrame, agreed: TableSchema | None) -> Ints:
    """Return a number of each row's patient; without a column of patients' ids each row is a patient."""
    if agreed is None or agreed.patient_id not in frame.columns:
        return np.arange(len(frame))
    ids = canonical_labels(frame[agreed.patient_id])
    known = [f"row {index}" if text is None else f"id {text}" for index, text in enumerate(ids)]
    return pd.factorize(pd.Series(known))[0]


def _share_right(
    truth: Ints,
    predicted: Ints,
    judged: Bools,
    patients: Ints,
    classes: int,
) -> Share | None:
    """Return the share of the judged rows that are predicted right, with its interval by patient."""
    truth, predicted, patients = truth[judged], predicted[judged], patients[judged]
    confusion = confusion_counts(truth, predicted, classes)
    squares = patient_squares(truth, predicted, patients, classes)
    counts = {"patient_id": "any", "confusion": confusion.tolist(), "patient_squares": squares.tolist()}
    return all_right({**counts, "accuracy": float(np.mean(truth == predicted))}) if len(truth) else None


def _rows(marked: Bools) -> tuple[int, ...]:
    """Return the data rows that are marked, counted from 1."""
    return tuple((np.flatnonzero(marked) + 1).tolist())


def with_simulated_matrices(model: RandomKernelSVC, result: Path) -> Model:
    """Return a model with the random matrices of its run's simulated sites, which follow from the settings.

    ModelFileError if the matrices are others, as those of hospitals are, or the run's result is not beside the model.
    """
    if not result.exists():
        raise ModelFileError(NEEDS_SITES)
    config = read_result(result.parent).get("config")
    if not isinstance(config, dict):
        raise ModelFileError(f"{result} does not say how the model was trained. {ONCE_MORE} {NEEDS_SITES}")
    count, size = int(config["sites"]), len(model.parts_.u)
    secrets = [lasting_secret(site) for site in simulated_hospitals(count, config)]
    matrices, columns = [], np.array(model.schema_.columns, dtype=np.str_)
    for index, digest in enumerate(model.parts_.digests):
        block = columns[model.parts_.blocks == index].tolist()
        drawn = (random_matrix(block_seed(secret, block), size, len(block)) for secret in secrets)
        matrices.append(next((B for B in drawn if matrix_digest(B) == digest), np.empty((0, len(block)))))
    return model.with_matrices(matrices)
