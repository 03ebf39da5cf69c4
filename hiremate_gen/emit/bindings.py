"""Names that the carried file binds or uses, and the imports that generated code shares with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hiremate_gen.ir.source import SourceFile

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def bound_names(source: SourceFile) -> frozenset[str]:
    """Every identifier that a generated module-level name must not equal.

    Names used only inside functions count too: a generated `mask` would change what an unbound `mask` there means.
    """
    found: set[str] = set(source.star_names)
    for node in ast.walk(ast.parse(source.text)):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=asname) if name != "*":
                found.add(asname or name.partition(".")[0])
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.update(names)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found.add(name)
    return frozenset(found)


def free_import(source: SourceFile, statement: str) -> tuple[str, str | None]:
    """The name under which generated code reaches what `statement` imports, and the import to add for it.

    None where the file binds that name to the same thing already, above the planned class; where it means something
    else by it, the import gets another name ("torch_").  `statement` imports one thing: "import torch",
    "import torch.nn.functional as F", "from typing import NamedTuple".
    """
    wanted = ast.parse(statement).body[0]
    [(name, target)] = _imports(wanted)
    if name not in bound_names(source):
        return name, statement
    if _means(source, name, target):
        return name, None
    free = f"{name}_"
    while free in bound_names(source):
        free += "_"
    return free, _renamed(wanted, free)


def _means(source: SourceFile, name: str, target: str) -> bool:
    """Whether every module-level binding of `name` is an import of `target`, the first before the planned class."""
    if name in source.star_names and not any(name == n for n, _ in _all_imports(source)):
        return False
    tree = ast.parse(source.text)
    dropped = {s.index for s in source.skipped if not s.carried}
    last_line = source.planned.line if source.planned is not None else len(source.text)
    first = False
    for at, node in enumerate(tree.body):
        pairs = list(_imports(node))
        if at not in dropped and node.lineno < last_line:
            first = first or (name, target) in pairs
        if any(n == name and t != target for n, t in pairs) or (not pairs and name in _binds(node)):
            return False
    return first


def _all_imports(source: SourceFile) -> Iterator[tuple[str, str]]:
    for node in ast.parse(source.text).body:
        yield from _imports(node)


def _imports(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Names that an import binds, each with the dotted path of what it binds."""
    if isinstance(node, ast.Import):
        for a in node.names:
            yield (a.asname, a.name) if a.asname else (a.name.partition(".")[0],) * 2
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield from ((a.asname or a.name, f"{node.module}.{a.name}") for a in node.names)


def _binds(node: ast.AST) -> set[str]:
    """Names that a statement other than an import binds in the module; `global` in functions counts."""
    found: set[str] = set()
    for item in _same_scope(node):
        match item:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=asname):
                found.add(asname or name.partition(".")[0])
    return found | {n for item in ast.walk(node) if isinstance(item, ast.Global) for n in item.names}


def _same_scope(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, _DEFINITIONS):
        for child in ast.iter_child_nodes(node):
            yield from _same_scope(child)


def _renamed(statement: ast.stmt, name: str) -> str:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        statement.names[0].asname = name
    return ast.unparse(statement)
