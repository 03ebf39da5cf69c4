"""Which statement stands on which line, and what it assigns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import groupby

from hiremate_gen.ir.source import Statement

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def index(tree: ast.Module, text: str) -> tuple[Statement, ...]:
    """Every simple statement and every head of a compound one, in order of lines."""
    lines = text.split("\n")
    found = sorted(_statements(tree), key=lambda s: s[:2])
    # A line shared by several statements (semicolons, `if a: b = c`) cannot tell which of them an op came from.
    result: list[Statement] = []
    for start, same in groupby(found, key=lambda s: s[0]):
        group = list(same)
        targets = group[0][2] if len(group) == 1 else ()
        result.append(Statement(start, max(g[1] for g in group), lines[start - 1].strip(), targets))
    return tuple(result)


def _statements(tree: ast.AST) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None) or getattr(node, "cases", None)
        if body is None:
            yield node.lineno, node.end_lineno or node.lineno, assigned(node)
        elif not isinstance(node, _DEFINITIONS):
            # A match case has no position of its own: its pattern does.
            first = min(n.lineno for b in body for n in ast.walk(b) if hasattr(n, "lineno"))
            yield node.lineno, max(node.lineno, first - 1), assigned(node)


def assigned(node: ast.stmt) -> tuple[str, ...]:
    """Names that a statement assigns, position by position; of `a = b = c` the first."""
    match node:
        case ast.Assign(targets=[target, *_]):
            return _names(target)
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return _names(target)
        case ast.For(target=target) | ast.AsyncFor(target=target):
            return _names(target)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return tuple(n for i in items if i.optional_vars is not None for n in _names(i.optional_vars))
    return ()


def _names(target: ast.expr) -> tuple[str, ...]:
    match target:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return (name,)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(n for item in items for n in _names(item))
        case ast.Starred(value=value) | ast.Subscript(value=value):
            return _names(value)
    return ("_",)
