"""The forward that a class defines, as source text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hiremate_gen.ir.source import Parameter, Signature

Function = ast.FunctionDef | ast.AsyncFunctionDef


def classes(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.ClassDef]]:
    """Every class of the file with its qualified name, as Python spells `__qualname__`, in order of the text."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            yield from classes(node, f"{prefix}{node.name}.")
        elif isinstance(node, Function):
            yield from classes(node, f"{prefix}{node.name}.<locals>.")
        else:
            yield from classes(node, prefix)


def methods(node: ast.ClassDef, name: str) -> list[Function]:
    """Definitions of a method in the class body, also those below an `if` or `try` of it."""
    found: list[Function] = []
    todo: list[ast.AST] = list(node.body)
    while todo:
        item = todo.pop(0)
        if isinstance(item, Function):
            if item.name == name:
                found.append(item)
        elif not isinstance(item, ast.ClassDef | ast.expr):
            todo[:0] = ast.iter_child_nodes(item)
    return found


def signature(function: Function) -> Signature:
    """Raises ValueError when the function has no first parameter to receive the module."""
    a = function.args
    positional = [(p, "POSITIONAL_ONLY") for p in a.posonlyargs] + [(p, "POSITIONAL_OR_KEYWORD") for p in a.args]
    if not positional:
        raise ValueError(f"{function.name} has no parameter for the module itself")
    pad: list[ast.expr | None] = [None] * (len(positional) - len(a.defaults))
    rows = [(p, kind, default) for (p, kind), default in zip(positional, pad + list(a.defaults), strict=True)]
    if a.vararg:
        rows.append((a.vararg, "VAR_POSITIONAL", None))
    rows += [(p, "KEYWORD_ONLY", default) for p, default in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    if a.kwarg:
        rows.append((a.kwarg, "VAR_KEYWORD", None))
    parameters = tuple(Parameter(p.arg, kind, _text(p.annotation), _text(default)) for p, kind, default in rows[1:])
    return Signature(rows[0][0].arg, parameters, _text(function.returns))


def _text(node: ast.expr | None) -> str:
    return "" if node is None else ast.unparse(node)
