"""Sides of a sum as a declaration writes them (`flower_pansvm.tasks.Shape`): lengths, computed from the schema."""

import ast
import operator
from collections.abc import Callable, Mapping

from flower_pansvm.class_columns import positive_classes
from flower_pansvm.schema import Schema

OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
NAMES = ("classes", "class_columns", "columns", "folds")


def sizes_of(schema: Schema | None, folds: int) -> dict[str, int]:
    """Return the lengths of the names in a side; empty without a schema.

    ``class_columns`` are the columns of decision values: one for each class, or one for two classes.
    """
    if schema is None:
        return {}
    classes = len(schema.classes)
    return dict(
        zip(NAMES, (classes, len(positive_classes(classes)), len(schema.columns), folds), strict=True)
    )


def length(side: str, sizes: Mapping[str, int]) -> int:
    """Return the length of a side such as ``columns * (columns + 1) // 2``; -1 (any) while no size is known.

    Raises
    ------
    TypeError
        If the side has anything but `NAMES`, whole numbers, ``+ - * //`` and brackets.

    Examples
    --------
    >>> length("columns * columns", {"columns": 3})
    9
    """

    def value(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(constant)):
                return constant
            case ast.Name(id=name) if name in NAMES:
                return sizes.get(name, 0)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return OPERATORS[type(op)](value(left), value(right))
        raise TypeError(
            f"A declaration has the side '{side}'. Write it with {', '.join(NAMES)}, whole numbers, + - * // and "
            "brackets."
        )

    result = value(ast.parse(side, mode="eval").body)
    return result if sizes else -1
