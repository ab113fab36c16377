"""A graph of ONNX that grows node by node, in double precision as the models compute."""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

OPSET = 17
"""Version of the operators; runtimes since 2022 know it."""

IR_VERSION = 8
"""Version of the file format that came with these operators."""

ROWS = "rows"
"""Name of the dimension that a caller chooses."""


class Graph:
    """Nodes and constants so far; values go by their names. The input ``X`` is a table of so many columns."""

    def __init__(self, columns: int) -> None:
        self.X = "X"
        self._columns = columns
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outputs: list[Any] = []

    def add(self, operator: str, *inputs: "str | NDArray[Any] | float", **attributes: Any) -> str:
        """Add a node of an operator of ONNX and return the name of its result.

        Inputs are names of values; arrays and numbers become constants.
        """
        names = [value if isinstance(value, str) else self._constant(np.asarray(value)) for value in inputs]
        result = f"{operator}_{len(self._nodes)}"
        self._nodes.append(onnx.helper.make_node(operator, names, [result], **attributes))
        return result

    def sum(self, value: str, axis: int, keep: bool = False) -> str:
        """Return the name of a sum along an axis."""
        return self.add("ReduceSum", value, np.array([axis]), keepdims=int(keep))

    def filled(self, value: str, where: str, fill: "NDArray[Any] | float | str") -> str:
        """Return the name of a value in which ``fill`` is wherever ``where`` is no number."""
        return self.add("Where", self.add("IsNaN", where), fill, value)

    def output(self, name: str, value: str, kind: "type[Any]", columns: int | None = None) -> None:
        """Give a value away: of shape (rows,), or (rows, columns)."""
        self._nodes.append(onnx.helper.make_node("Identity", [value], [name]))
        shape: list[str | int | None] = [ROWS] if columns is None else [ROWS, columns]
        types = {str: onnx.TensorProto.STRING, int: onnx.TensorProto.INT64, float: onnx.TensorProto.DOUBLE}
        self._outputs.append(onnx.helper.make_tensor_value_info(name, types[kind], shape))

    def finished(self, about: dict[str, str]) -> Any:
        """Return the ``onnx.ModelProto``, checked, with texts about it."""
        table = onnx.helper.make_tensor_value_info(self.X, onnx.TensorProto.DOUBLE, [ROWS, self._columns])
        graph = onnx.helper.make_graph(self._nodes, "flower-pansvm", [table], self._outputs, self._constants)
        model = onnx.helper.make_model(
            graph,
            opset_imports=[onnx.helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="flower-pansvm",
        )
        onnx.helper.set_model_props(model, about)
        onnx.checker.check_model(model, full_check=True)
        return model

    def _constant(self, array: NDArray[Any]) -> str:
        name = f"constant_{len(self._constants)}"
        stored = array.astype(object) if array.dtype.kind == "U" else array
        self._constants.append(onnx.numpy_helper.from_array(stored, name))
        return name
