"""The definitions of a file of code, without words: so that two versions of it can be compared."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class Definition(NamedTuple):
    """A function, a class, a constant; or all other statements of a file, which have no name."""

    code: str  # the same text for the same code
    words: frozenset[str]  # all names that it uses, those in its texts too
    # Whether it may be used without being named: statements, and definitions decorated by a call.
    registered: bool


@cache
def definitions(source: str) -> dict[str, Definition]:
    """Return a file's definitions at its top, by name.

    Comments, docstrings, line breaks, imports, annotations of functions, texts of errors, rows of registries and the
    names of a function's own variables count for nothing; its arguments' names do, since callers may use them.
    """
    parts: dict[str, list[ast.stmt]] = {}
    for node in _Bare().visit(ast.parse(source)).body:
        for name in _names(node):
            parts.setdefault(name, []).append(node)
    return {name: _definition(name, nodes) for name, nodes in parts.items()}


def _names(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement at the top of a file defines; the empty one if it defines none."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from [
            child.id for target in targets for child in ast.walk(target) if isinstance(child, ast.Name)
        ] or [""]
    else:
        yield ""


def _definition(name: str, nodes: list[ast.stmt]) -> Definition:
    words: set[str] = set()
    for node in (child for root in nodes for child in ast.walk(root)):
        if isinstance(node, ast.Name):
            words.add(node.id)
        elif isinstance(node, ast.Attribute):
            words.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words |= set(re.findall(r"[A-Za-z_]\w*", node.value))
    decorators = [decorator for node in nodes for decorator in getattr(node, "decorator_list", [])]
    is_class = any(isinstance(node, ast.ClassDef) for node in nodes)
    called = any(isinstance(decorator, ast.Call) for decorator in decorators)
    registered = not name or (called and not is_class)
    return Definition(
        "\n".join(ast.dump(_Rowless().visit(_renamed(node))) for node in nodes), frozenset(words), registered
    )


class _Bare(ast.NodeTransformer):
    """Takes words out of a tree."""

    def visit_Import(self, node: ast.Import) -> None:
        """Drop it: the origin of a name is no part of the code that uses it."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Drop it."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        """Drop docstrings and other unused texts."""
        self.generic_visit(node)
        return None if isinstance(node.value, ast.Constant) else node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Drop an argument's annotation."""
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Drop the annotation of the returned value."""
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        """Drop an error's message."""
        made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return ast.Raise(made, None)


class _Rowless(ast.NodeTransformer):
    """Takes rows such as ``"pan-svm": "strategies.pan_svm:PanSvm"`` out of tables: they lead to code of its own."""

    def visit_Dict(self, node: ast.Dict) -> ast.Dict:
        """Keep the other rows."""
        self.generic_visit(node)
        rows = [pair for pair in zip(node.keys, node.values, strict=True) if not _is_entry_point(pair[1])]
        return ast.Dict([key for key, _ in rows], [value for _, value in rows])


def _is_entry_point(node: ast.expr) -> bool:
    """Return whether a value is ``"module:attribute"``."""
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_text and re.fullmatch(r"\w+(\.\w+)+:\w+", str(node.value)) is not None  # type: ignore[attr-defined]


def _renamed(node: ast.stmt) -> ast.stmt:
    """Replace by numbers the variables of a function, or of each method of a class, in the order of use."""
    for function in node.body if isinstance(node, ast.ClassDef) else [node]:
        if isinstance(function, ast.FunctionDef):
            variables = [name for name in ast.walk(function) if isinstance(name, ast.Name)]
            given = {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
            fixed = given | {
                name
                for statement in ast.walk(function)
                if isinstance(statement, ast.Global | ast.Nonlocal)
                for name in statement.names
            }
            assigned = [
                name.id for name in variables if isinstance(name.ctx, ast.Store) and name.id not in fixed
            ]
            numbers = {name: f"variable {index}" for index, name in enumerate(dict.fromkeys(assigned))}
            for variable in variables:
                variable.id = numbers.get(variable.id, variable.id)
    return node
