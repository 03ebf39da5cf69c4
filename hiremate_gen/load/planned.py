"""The class whose forward is rewritten: it must stand in the file."""

from __future__ import annotations

import ast
import inspect

import torch

from hiremate_gen.errors import LoadError, UnsupportedError
from hiremate_gen.ir.source import Planned, SourceFile
from hiremate_gen.load.signature import classes, methods, signature

_WRAP = "wrap it in a class of this file whose forward calls it, and make build_model() return that"


def planned(model: torch.nn.Module, module_name: str, source: SourceFile, tree: ast.Module) -> Planned:
    """Raises UnsupportedError when forward is inherited or comes from somewhere else."""
    cls = type(model)
    if "forward" in vars(model):
        raise UnsupportedError("forward is replaced on the model itself", where=source.path, hint=_WRAP)
    if cls.__module__ != module_name:
        message = f"the model is {cls.__module__}.{cls.__qualname__}, which is not defined in this file"
        raise UnsupportedError(message, where=source.path, hint=_WRAP)
    nodes = [node for name, node in classes(tree) if name == cls.__qualname__]
    if not nodes:
        message = f"the class {cls.__qualname__} is made by a call, not by a class statement"
        raise UnsupportedError(message, where=source.path, hint=_WRAP)
    node = next((n for n in nodes if _defines(n, cls)), nodes[-1])
    spot = f"{source.path}:{node.lineno}:{node.col_offset + 1}"
    found = methods(node, "forward")
    if "forward" not in vars(cls) or not found:
        owner = next((c.__qualname__ for c in cls.__mro__ if "forward" in vars(c)), "nothing")
        message = f"{cls.__qualname__} has no forward of its own: it comes from {owner}"
        raise UnsupportedError(message, where=spot, hint=f"define forward in {cls.__qualname__}")
    try:
        return Planned(cls.__qualname__, node.lineno, signature(found[-1]))
    except ValueError as error:
        raise LoadError(str(error), where=f"{source.path}:{found[-1].lineno}:{found[-1].col_offset + 1}") from None


def _defines(node: ast.ClassDef, cls: type) -> bool:
    """Whether this statement, of several with one name, is the one that made the class."""
    code = getattr(inspect.unwrap(vars(cls).get("forward", cls)), "__code__", None)
    return code is not None and node.lineno <= code.co_firstlineno <= (node.end_lineno or node.lineno)
