"""Which top-level names a piece of the file mentions, directly or through other top-level definitions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from hiremate_gen.load.signature import Function


def mentioned(node: ast.AST) -> set[str]:
    """Names of the module that are read anywhere inside: function bodies included, their own variables not."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    found = {n for child in ast.iter_child_nodes(node) for n in mentioned(child)}
    return found - _locals(node) if isinstance(node, Function | ast.Lambda) else found


def _locals(node: Function | ast.Lambda) -> set[str]:
    """Parameters, and names that the function binds without `global`."""
    a = node.args
    names = {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if p is not None}
    for statement in [] if isinstance(node, ast.Lambda) else node.body:
        names.update(bound(statement))
    shared = {n for item in ast.walk(node) if isinstance(item, ast.Global) for n in item.names}
    return names - shared


def read_at_once(node: ast.AST) -> set[str]:
    """Names that running the statement reads: not those in bodies of functions, which run later."""
    found: set[str] = set()
    todo: list[ast.AST] = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load):
            found.add(item.id)
        if isinstance(item, Function | ast.Lambda):
            a = item.args
            todo += [*a.defaults, *(d for d in a.kw_defaults if d is not None)]
            if not isinstance(item, ast.Lambda):
                todo += item.decorator_list
        else:
            todo += ast.iter_child_nodes(item)
    return found


def bound(node: ast.stmt) -> tuple[str, ...]:
    """Names that running a top-level statement binds in the module, in order of the text."""
    found: dict[str, None] = {}
    for item in _outside_functions(node):
        match item:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found[name] = None
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found.update((a.asname or a.name.partition(".")[0], None) for a in names if a.name != "*")
            case ast.Name(id=name, ctx=ast.Store()):
                found[name] = None
            case ast.ExceptHandler(name=str(name)):
                found[name] = None
    return tuple(found)


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if isinstance(node, Function | ast.ClassDef | ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp):
        return
    for child in ast.iter_child_nodes(node):
        yield from _outside_functions(child)


def reachable(statements: Iterable[ast.stmt], roots: Iterable[str]) -> frozenset[str]:
    """The names that can be needed when what `roots` name is used."""
    uses: dict[str, set[str]] = {}
    for statement in statements:
        names = mentioned(statement)
        # `CONFIG["width"] = width` binds nothing, and yet CONFIG depends on it.
        targets = getattr(statement, "targets", None) or [getattr(statement, "target", statement)]
        changed = {n for t in targets if isinstance(t, ast.Attribute | ast.Subscript) for n in mentioned(t)}
        for name in {*bound(statement), *changed}:
            uses.setdefault(name, set()).update(names)
    seen: set[str] = set()
    todo = list(roots)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += uses.get(name, ())
    return frozenset(seen)
