"""What loading asks for and what it gives."""

from __future__ import annotations

import ast
import inspect
import os
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from hiremate_gen.ir.decode import decode, digest
from hiremate_gen.ir.source import SourceFile
from hiremate_gen.load.blame import shown
from hiremate_gen.load.build import Built, build_real
from hiremate_gen.load.module import import_text, imported_files
from hiremate_gen.load.place import at_home
from hiremate_gen.load.recipe import Recipe
from hiremate_gen.load.script import skipped


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """`inputs` are expressions, `name=EXPR` for keywords; `fake` asks for a model without its memory."""

    path: str
    model: str | None = None
    inputs: tuple[str, ...] = ()
    device: str = "cpu"
    import_limit_s: float = 120.0
    fake: bool = True
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Loaded:
    """The model in train mode and the arguments of one step: fake tensors of `fake_mode`, or real when it is None.

    `kwargs` are in the order of forward's parameters.  `input_names` names the tensors among the arguments as pytree
    flattens (args, kwargs): a parameter's name, with the path inside it after a dot ("batch.mask").
    """

    source: SourceFile
    filename: str  # absolute, as in stack traces; never to be written into anything
    model: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    fake_mode: FakeTensorMode | None
    input_names: tuple[str, ...]
    notes: tuple[str, ...]  # for people: what could not be done the cheap way
    device: str
    recipe: Recipe

    @property
    def model_expr(self) -> str:
        return self.recipe.model_expr

    @property
    def inputs_exprs(self) -> tuple[str, ...]:
        """As given with --inputs, or the call of the file's own function."""
        return self.recipe.inputs_exprs or ("example_inputs()",)

    def shown(self, file: str) -> str:
        """A file of the user's as they would write it, empty for any other: it may stand in a message."""
        where = self.recipe.where
        own = file == where.file or (file.startswith(where.root + os.sep) and "site-packages" not in file)
        return shown(file, self.source, where) if own else ""

    def at_home(self) -> AbstractContextManager[None]:
        """Wrap whatever runs the user's code: imports inside functions find its folder, and its prints go to stderr."""
        return at_home(self.recipe.where)

    def build_real(self, seed: int = 0) -> Built:
        """A new model and inputs with real memory; equal seeds give equal values.  Raises LoadError."""
        with self.at_home():
            return build_real(self.recipe, self.device, seed)

    def build_from(self, text: str, seed: int = 0) -> Built:
        """The same from another text in the file's place, such as a generated one: same expressions, same values.

        What does not run at import in model.py does not run here.  Raises LoadError, or whatever the text raises.
        """
        left_out = {s.index for s in skipped(ast.parse(text), text, (self.model_expr, *self.inputs_exprs))}
        where = replace(self.recipe.where, file=f"{self.filename} (generated)")  # its lines are not those of model.py
        with self.at_home():
            module = import_text(where, text, left_out)
            return build_real(replace(self.recipe, module=module), self.device, seed)

    def imports(self) -> tuple[tuple[str, str], ...]:
        """Files of its own folder or package that the model has imported by now: path from the folder of model.py, with
        slashes, and digest.  Call it when the model has run, be it traced: functions import, too."""
        folder = os.path.dirname(self.filename)
        files = [f for f in imported_files(self.recipe.where) if os.path.isfile(f)]
        return tuple((os.path.relpath(f, folder).replace(os.sep, "/"), digest(decode(f))) for f in files)

    def text(self) -> str:
        """For --dump load."""
        lines = [f"source {self.source.path} sha256:{self.source.sha256}", f"model  {self.model_expr}"]
        lines += [f"inputs {e}" for e in self.inputs_exprs]
        if self.source.planned is not None:
            lines.append(f"class  {self.source.planned.qualname}({self.source.planned.forward.text})")
        tensors = [leaf for leaf in pytree.tree_leaves((self.args, self.kwargs)) if isinstance(leaf, torch.Tensor)]
        lines += [f"  {n}: {_spec(t)}" for n, t in zip(self.input_names, tensors, strict=True)]
        parameters = list(self.model.parameters())
        lines.append(f"parameters {len(parameters)}, elements {sum(p.numel() for p in parameters)}")
        lines.append(f"tensors    {'fake' if self.fake_mode is not None else 'real'}")
        lines += [f"not run    line {s.line}: {s.text}  ({s.reason})" for s in self.source.skipped]
        return "\n".join([*lines, *(f"note: {n}" for n in self.notes)]) + "\n"


def input_names(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
    """Names of the tensors among the arguments, in order of flattening."""
    bound = inspect.signature(model.forward).bind(*args, **kwargs).arguments
    rows: list[tuple[str, Any]] = []
    for name, parameter in inspect.signature(model.forward).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            rows += bound.get(name, {}).items()
        elif name in bound:
            rows.append((name, bound[name]))
    found: list[str] = []
    for name, value in rows:
        leaves, _ = pytree.tree_flatten_with_path(value)
        found += [".".join([name, *map(_key, path)]) for path, leaf in leaves if isinstance(leaf, torch.Tensor)]
    return tuple(found)


def _key(entry: Any) -> str:
    for attribute in ("key", "idx", "name"):
        if hasattr(entry, attribute):
            return str(getattr(entry, attribute))
    return str(entry)


def _spec(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
