"""``pansvm predict``: the rows of a file by a model."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flower_pansvm.command_line import (
    Drop,
    Label,
    Overwrite,
    ReadingCommand,
    check_file,
    command,
    given,
    single,
    together,
)
from flower_pansvm.files import complete_file
from flower_pansvm.lists import first_of

if TYPE_CHECKING:
    from clients.prediction import Predictions
    from flower_pansvm.shares import Share

NOTHING, DOUBTFUL = 1, 3
"""Exit codes, besides 0 if nothing was unknown and 2 if the command is not written right."""

MOST_ROWS, MOST_COLUMNS = 5, 10

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How a text begins that a spreadsheet takes for a formula, or for one after a character that it leaves out."""


@command(cls=ReadingCommand)
def predict(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="A model.npz.")],
    file: Annotated[
        Path, typer.Argument(help="A table with the columns of the training; others are ignored.")
    ],
    label: Label = None,
    row_id: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN", help="Column that identifies a row; it comes first in the output."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Probability from which on the positive class is predicted.", metavar="P"),
    ] = None,
    sensitivity: Annotated[
        float | None,
        typer.Option(
            help="Instead of a threshold: the share of patients with the positive class that it found in the test.",
            metavar="S",
        ),
    ] = None,
    drop: Drop = None,
    out: Annotated[
        Path | None, typer.Option(help="CSV or Excel file for the predictions.", show_default="print them")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Predict the rows of a file; with a label column also the accuracy.

    Exit code 0: all rows are predicted. 1: nothing is. 3: something was unknown, and the text says in which rows.
    """
    import pandas as pd  # noqa: PLC0415

    from clients.prediction import check_can_write, predict_file, write_table  # noqa: PLC0415
    from clients.table.form import TableForm  # noqa: PLC0415

    if out is not None:
        check_file(out, overwrite, model, file)
        check_can_write(out)
    form = TableForm.of({**single(given(context)), "drop": together(drop)}, None)
    predictions = predict_file(model, file, label, row_id, form, threshold, sensitivity)
    frame = predictions.frame.rename(columns=harmless)
    # Not by `map`, which makes 1.0 of the class 1 if a row is not predicted.
    frame = frame.apply(lambda cells: pd.Series(map(harmless, cells), cells.index, cells.dtype))
    if out is None:
        typer.echo(frame.to_csv(index=False), nl=False)
    else:
        with complete_file(out, overwrite) as unfinished:
            write_table(frame, unfinished)
    for text in _notes(predictions):
        typer.echo(text, err=True)
    if predictions.right is not None:
        typer.echo(_accuracy(predictions.right, predictions.unlabelled), err=out is None)
        if predictions.seen:
            typer.echo(
                "Warning: The model was made of a file of this name. If it is the same, the model has seen most of "
                "these rows, and the accuracy is too good: that of rows which it had not seen is in its report.",
                err=True,
            )
    if predictions.lacks_patients:
        typer.echo(
            f"Warning: The file lacks the column '{predictions.lacks_patients}', which says whose each row is, so each "
            "counts as a patient. If some patients have several rows, the interval is too narrow.",
            err=True,
        )
    doubts = list(_doubts(predictions))
    for text in doubts:
        typer.echo(text, err=True)
    if doubts:
        raise typer.Exit(NOTHING if len(predictions.not_predicted) == len(predictions.frame) else DOUBTFUL)


def _notes(predictions: "Predictions") -> Iterator[str]:
    """Yield the notes on the file and on how it was read."""
    from clients.table.table import columns_text  # noqa: PLC0415

    if predictions.threshold:
        yield predictions.threshold
    if predictions.caution:
        yield f"Caution: {predictions.caution}"
    if predictions.contradicted:
        yield (
            f"{predictions.contradicted} of {len(predictions.frame)} predictions are not the class with the largest "
            "probability. Predictions follow the decision values, as do the figures of the run's report; class weights "
            "or decisions by pairs of classes move the two apart. Ask a person about such patients."
        )
    if predictions.unused:
        yield f"The model does not need {columns_text(predictions.unused)} of the file."
    if predictions.empty:
        yield f"{predictions.empty} rows that are empty, or the column names again, have no prediction."
    if predictions.ambiguous:
        yield (
            f"Warning: Of {columns_text(predictions.ambiguous)} nobody knows whether points or commas are for "
            "decimals, as they were read, or for thousands. Say it: --thousands, or --thousands none."
        )


def _accuracy(right: "Share", unlabelled: int) -> str:
    without = f"; {_count(unlabelled, 'more row')} without a label" if unlabelled else ""
    return (
        f"accuracy {right.value:.4f} over {_count(int(right.of), 'row')} (95% interval {100 * right.low:.0f}% to "
        f"{100 * right.high:.0f}%{without})"
    )


def _doubts(predictions: "Predictions") -> Iterator[str]:
    """Yield the unknown cells by row, and how they counted."""
    from clients.table.table import columns_text  # noqa: PLC0415

    rows = len(predictions.frame)
    for column, where in list(predictions.unknown.items())[:MOST_COLUMNS]:
        yield f"Column '{column}': the model does not know the cell of {_some(where, rows)}."
    if predictions.far:
        yield (
            f"Of {columns_text(predictions.far)} at least half of the cells are far from those of the training, by "
            "more than three standard deviations. Are they in another unit? If these are other patients than the "
            "training's, nobody knows how good the predictions are."
        )
    if len(predictions.unknown) > MOST_COLUMNS:
        yield f"So it is with {_count(len(predictions.unknown) - MOST_COLUMNS, 'more column')}."
    if predictions.unknown:
        kept = len(
            {row for where in predictions.unknown.values() for row in where} - {*predictions.not_predicted}
        )
        if kept:
            yield f"{_count(kept, 'row')} with such cells: predicted as if these were missing."
    if predictions.not_predicted:
        yield f"Not predicted: {_some(predictions.not_predicted, rows)}, with no cell that is known."
    if predictions.no_class:
        yield (
            f"The label of {_count(predictions.no_class, 'row')} is no class of the model, or spelt otherwise, and "
            "does not count for the accuracy."
        )


def _some(where: Sequence[int], rows: int) -> str:
    return f"{len(where)} of {rows} rows, data row {first_of(where, MOST_ROWS)}"


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def harmless(cell: object) -> object:
    """Return a cell with an apostrophe before a text that a spreadsheet would take for a formula and compute.

    Class names come with the model, and ids with the table; others may have written both.

    Examples
    --------
    >>> [harmless(cell) for cell in ("=1+1", "-x", "-1", "+", -0.5, ">50K")]
    ["'=1+1", "'-x", '-1', '+', -0.5, '>50K']
    """
    if not isinstance(cell, str) or len(cell) == 1 or not cell.startswith(FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
