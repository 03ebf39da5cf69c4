"""Which class of the file is the model, when nobody says."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from types import ModuleType

import torch

from hiremate_gen.errors import LoadError
from hiremate_gen.ir.source import SourceFile
from hiremate_gen.load.references import reachable
from hiremate_gen.load.signature import classes

_SAY = "say which with --model 'Net(...)', or define build_model() in the file"


def choose(module: ModuleType, source: SourceFile, tree: ast.Module) -> str:
    """The expression that builds the only module class that no other class uses.

    Raises LoadError when there is none, more than one, or its constructor needs arguments.
    """
    own = {n: c for n, c in vars(module).items() if _is_own(c, module) and c.__name__ == n}
    if not own:
        raise LoadError(
            "no class in this file is an nn.Module",
            where=f"{source.path}:1:1",
            hint="wrap the step in a class with a forward, define build_model() in the file, or pass --model 'EXPR'",
        )
    left_out = {s.index for s in source.skipped}
    run = [s for i, s in enumerate(tree.body) if i not in left_out]
    lines = {name: node for name, node in classes(tree) if name in own}
    order = sorted(own, key=lambda n: lines[n].lineno if n in lines else 0)
    roots = [n for n in order if not any(n in _used(o, run) for o in order if o != n)] or order
    if len(roots) > 1:
        spots = ", ".join(f"{n} ({_spot(source, lines.get(n))})" for n in roots)
        raise LoadError(f"{len(roots)} classes could be the model: {spots}", where=source.path, hint=_SAY)
    _check_constructor(own[roots[0]], roots[0], _spot(source, lines.get(roots[0])))
    return f"{roots[0]}()"


def _is_own(value: object, module: ModuleType) -> bool:
    return isinstance(value, type) and issubclass(value, torch.nn.Module) and value.__module__ == module.__name__


def _used(name: str, statements: Sequence[ast.stmt]) -> frozenset[str]:
    """Names that a class can need: what it mentions, and classes that are handed to its constructor."""
    handed = {
        n.id
        for statement in statements
        for call in ast.walk(statement)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == name
        for arg in (*call.args, *(k.value for k in call.keywords))
        for n in ast.walk(arg)
        if isinstance(n, ast.Name)
    }
    return reachable(statements, {name, *handed})


def _check_constructor(cls: type, name: str, spot: str) -> None:
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        return  # found out when it is built
    fixed = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    missing = [p.name for p in fixed if p.default is p.empty]
    if missing:
        given = ", ".join(f"{p}=..." for p in missing)
        raise LoadError(
            f"the constructor of {name} needs {', '.join(missing)}",
            where=spot,
            hint=f"pass --model '{name}({given})', or define build_model() in the file",
        )


def _spot(source: SourceFile, node: ast.ClassDef | None) -> str:
    return f"{source.path}:{node.lineno}:{node.col_offset + 1}" if node is not None else source.path
