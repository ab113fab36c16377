"""Each kind of model as a graph of ONNX, from the table's own cells to decisions.

The graph computes what the methods of the model's class do, node for node.
"""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import ModelFileError
from flower_pansvm.export.onnx_graph import Graph
from flower_pansvm.fourier_map import BINS, CONSTANT, EDGES, FURTHEST, LEAST_LENGTH, MIDDLES
from flower_pansvm.kernels import Kernel
from flower_pansvm.models.fourier_svc import FourierSVC, RandomFourierSVC
from flower_pansvm.models.model import Model
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.multiclass import REST
from flower_pansvm.privacy.exact import CELL_STEP, JUST_BELOW, LARGEST_CELL, STEP, TURN
from flower_pansvm.scaling import Scaling

RIGHT_ANGLE = np.pi / 2


def as_onnx(model: Model) -> Any:
    """Return a model as ``onnx.ModelProto``; ModelFileError if it is another package's or a baseline's.

    Its input ``X`` is a table of doubles, shape (rows, columns), in its own units, columns in the order of the entry
    ``columns`` of its metadata; NaN is a missing cell. Outputs are ``label``, shape (rows,); ``decision``, as
    ``decision_function`` returns it; ``probabilities``, shape (rows, classes), if the model gives any.
    """
    graph, schema = Graph(len(model.schema_.columns)), model.schema_
    if isinstance(model, PanSVC):
        decisions = _pan_svc(graph, model)
    elif isinstance(model, FourierSVC) and not isinstance(model, RandomFourierSVC):
        decisions = _fourier_svc(graph, model)
    else:
        raise ModelFileError(
            f"A model of kind '{model.kind}' cannot be exported: its system is a baseline, or another package's. "
            "Use 'pansvm predict', or export a model of PAN-SVM, a feature selection, svm-admm or dp-svm."
        )
    classes: NDArray[Any] = model.classes_
    count, kind = len(classes), str if classes.dtype.kind == "U" else int
    if count == 2:
        decision = graph.add("Squeeze", decisions, np.array([1]))
        winner = graph.add("Cast", graph.add("Greater", decision, 0.0), to=TensorProto.INT64)
    else:
        decision = decisions
        winner = graph.add("ArgMax", decisions, axis=1, keepdims=0)
    graph.output("label", graph.add("Gather", classes, winner), kind)
    graph.output("decision", decision, float, None if count == 2 else count)
    if hasattr(model, "predict_proba"):
        graph.output("probabilities", _probabilities(graph, model, decisions), float, count)
    return graph.finished(
        {
            "kind": model.kind,
            "sha256": model.sha256(),
            "columns": json.dumps(schema.columns, ensure_ascii=False),
            "classes": json.dumps(schema.classes, ensure_ascii=False),
            "positive_labels": json.dumps(schema.positive_labels, ensure_ascii=False),
        }
    )


def _pan_svc(graph: Graph, model: PanSVC) -> str:
    cells = _scaled(graph, graph.X, model.scaling_)
    kernel = _kernel(graph, cells, model.feature_map_.kernel, model.feature_map_.landmarks)
    mapped = graph.add("MatMul", kernel, model.feature_map_.normalization)
    decisions = graph.add("Add", graph.add("MatMul", mapped, model.coef_.T), model.intercept_)
    classes = len(model.classes_)
    if classes == 2 or model.pairs_[0].negative == REST:
        return decisions
    positive, negative = np.eye(classes)[np.array(model.pairs_).T]
    won = graph.add("Cast", graph.add("Greater", decisions, 0.0), to=TensorProto.DOUBLE)
    votes = graph.add("Add", graph.add("MatMul", won, positive - negative), negative.sum(axis=0))
    confidence = graph.add("MatMul", decisions, positive - negative)
    size = graph.add("Mul", graph.add("Add", graph.add("Abs", confidence), 1.0), 3.0)
    return graph.add("Add", votes, graph.add("Div", confidence, size))


def _fourier_svc(graph: Graph, model: FourierSVC) -> str:
    fourier, columns = model.feature_map_, len(model.schema_.columns)
    inside = _places(graph, fourier.low, fourier.high)
    # Cells are compared with all edges of the bins: (rows, columns, edges).
    places = graph.add("Unsqueeze", inside, np.array([2]))
    above = graph.add("Cast", graph.add("Greater", places, EDGES), to=TensorProto.INT64)
    at_end = graph.add("Cast", graph.add("GreaterOrEqual", inside, 1.0), to=TensorProto.INT64)
    bin_index = graph.add("Add", graph.sum(above, 2), at_end)
    flat_index = graph.add("Add", bin_index, np.arange(columns) * BINS)
    distance = graph.add("Sub", inside, graph.add("Gather", MIDDLES, bin_index))
    rises = graph.add("Mul", graph.add("Gather", fourier.rises.ravel(), flat_index), distance)
    ranks = graph.add("Add", graph.add("Gather", fourier.ranks.ravel(), flat_index), rises)
    values = graph.add("Div", graph.add("Sub", inside, fourier.mean), fourier.deviation)
    doubled = graph.add("Add", ranks, graph.add("Clip", values, -FURTHEST, FURTHEST))
    scaled = graph.filled(graph.add("Div", doubled, 2.0), graph.X, 0.0)
    cells = _steps(graph, graph.add("Clip", scaled, -LARGEST_CELL, LARGEST_CELL))
    longest, amplitude = fourier.lengths
    length = graph.add("Add", graph.add("Floor", _length(graph, cells)), 1.0)
    least = graph.add("Max", length, LEAST_LENGTH * np.sqrt(columns) / CELL_STEP)
    linear = _cut(graph, graph.add("Div", graph.add("Mul", cells, longest / STEP), least))
    waves = _waves(graph, cells, fourier.frequencies, amplitude)
    decisions = graph.add("MatMul", graph.add("Concat", linear, *waves, axis=1), model.coef_[:-1])
    return graph.add("Add", decisions, CONSTANT * model.coef_[-1])


def _probabilities(graph: Graph, model: Any, decisions: str) -> str:
    """Return the name of the probabilities of the classes."""
    fit = model.calibration_
    values = graph.add("Add", graph.add("Mul", decisions, fit.slopes), fit.intercepts)
    sigmoids = graph.add("Sigmoid", values)
    if len(fit.slopes) == 1:
        return graph.add("Concat", graph.add("Sub", 1.0, sigmoids), sigmoids, axis=1)
    total = graph.sum(sigmoids, 1, keep=True)
    none = graph.add("Equal", total, 0.0)
    equal = np.full(len(fit.slopes), 1 / len(fit.slopes))
    return graph.add("Where", none, equal, graph.add("Div", sigmoids, graph.add("Where", none, 1.0, total)))


def _scaled(graph: Graph, cells: str, scaling: Scaling) -> str:
    filled = graph.filled(cells, cells, scaling.fill)
    return graph.add("Div", graph.add("Sub", filled, scaling.shift), scaling.scale)


def _kernel(graph: Graph, cells: str, kernel: Kernel, landmarks: Floats) -> str:
    if kernel.name == "rbf":
        centre = landmarks.mean(axis=0)
        X, Z = graph.add("Sub", cells, centre), landmarks - centre
        squares = graph.add("Add", graph.sum(graph.add("Mul", X, X), 1, keep=True), np.square(Z).sum(axis=1))
        products = graph.add("MatMul", X, -2.0 * Z.T)
        distances = graph.add("Max", graph.add("Add", squares, products), 0.0)
        return graph.add("Exp", graph.add("Mul", distances, -kernel.gamma))
    return graph.add("MatMul", cells, landmarks.T)


def _places(graph: Graph, low: Floats, high: Floats) -> str:
    """Return the name of where cells are between the ends of their columns, 0 to 1; 0 for a missing cell."""
    apart = graph.add("Div", graph.add("Sub", graph.X, low), high - low)
    return graph.add("Clip", graph.filled(apart, apart, 0.0), 0.0, 1.0)


def _steps(graph: Graph, cells: str) -> str:
    """Return the name of cells in whole steps of exact arithmetic."""
    return graph.add("Round", graph.add("Div", cells, CELL_STEP))


def _cut(graph: Graph, values: str) -> str:
    """Return the name of multiples of `STEP`, for numbers in steps."""
    truncated = graph.add("Cast", graph.add("Cast", values, to=TensorProto.INT64), to=TensorProto.DOUBLE)
    return graph.add("Mul", truncated, STEP)


def _waves(graph: Graph, cells: str, frequencies: Floats, amplitude: float) -> tuple[str, str]:
    """Return the names of cosines and sines as :func:`flower_pansvm.privacy.exact.waves` makes them."""
    phases = graph.add("Floor", graph.add("MatMul", cells, frequencies.T * (CELL_STEP * TURN)))
    turned = graph.add("Mod", graph.add("Cast", phases, to=TensorProto.INT64), np.array(TURN))
    angles = graph.add("Mul", graph.add("Cast", turned, to=TensorProto.DOUBLE), 2 * np.pi / TURN)
    # onnxruntime has no cosine of doubles.
    sines = (graph.add("Sin", wave) for wave in (graph.add("Add", angles, RIGHT_ANGLE), angles))
    cosine, sine = (_cut(graph, graph.add("Mul", wave, amplitude * JUST_BELOW / STEP)) for wave in sines)
    return cosine, sine


def _length(graph: Graph, rows: str) -> str:
    return graph.add("Sqrt", graph.sum(graph.add("Mul", rows, rows), 1, keep=True))
