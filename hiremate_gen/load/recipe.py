"""How to build the model and its inputs: two kinds of expression over the file's namespace."""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

import torch

from hiremate_gen.errors import LoadError
from hiremate_gen.ir.source import SourceFile
from hiremate_gen.load.blame import blame, needs_skipped
from hiremate_gen.load.place import Place

Inputs = tuple[tuple[Any, ...], dict[str, Any]]
_INPUTS_HINT = (
    "define example_inputs() in the file (returning a tuple, a dict of keyword arguments, or a tensor), or pass "
    "--inputs 'torch.randn(8, 16)' once for each"
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """Run it as often as needed; each model is a new one.  Needs `at_home`."""

    source: SourceFile
    where: Place
    module: ModuleType
    model_expr: str
    inputs_exprs: tuple[str, ...]  # empty: example_inputs()

    def make_model(self) -> torch.nn.Module:
        """In train mode, on the device where the user's code puts it.  Raises LoadError."""
        model = self._evaluate(self.model_expr, "--model", "building the model")
        if not isinstance(model, torch.nn.Module):
            message = f"{self.model_expr} is {_a(model)}, not an nn.Module"
            raise LoadError(message, where=self.source.path, hint="make build_model() or --model give the model itself")
        if any(value is model for value in vars(self.module).values()):
            model = copy.deepcopy(model)  # built once for the whole file: what is done to it must not stay
        return model.train()

    def make_inputs(self) -> Inputs:
        """Arguments of one step.  Raises LoadError."""
        if self.inputs_exprs:
            return self._from_flags()
        if not hasattr(self.module, "example_inputs"):
            if (skipped := self.source.skipped_name("example_inputs")) is not None:
                raise needs_skipped("example_inputs", skipped, self.source, self.source.path)
            raise LoadError("the inputs of the model are missing", where=self.source.path, hint=_INPUTS_HINT)
        given = self._evaluate("example_inputs()", "example_inputs", "making the inputs")
        if isinstance(given, torch.Tensor):
            return (given,), {}
        if isinstance(given, dict) and all(isinstance(k, str) for k in given):
            return (), dict(given)
        if isinstance(given, tuple | list):
            return tuple(given), {}
        message = f"example_inputs() returns {_a(given)}, not a tuple, a dict of keyword arguments, or a tensor"
        raise LoadError(message, where=_line_of(self.module.example_inputs, self.source))

    def _from_flags(self) -> Inputs:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for at, text in enumerate(self.inputs_exprs, 1):
            flag = f"--inputs #{at}"
            name, expression = keyword(text, flag)
            value = self._evaluate(expression, flag, "making the inputs")
            if name is None:
                args.append(value)
            elif name in kwargs:
                raise LoadError(f"{name} is given twice", where=flag)
            else:
                kwargs[name] = value
        return tuple(args), kwargs

    def _evaluate(self, expression: str, flag: str, doing: str) -> Any:
        code = compiled(expression, flag)
        try:
            return eval(code, {"torch": torch, **vars(self.module)})
        except (Exception, SystemExit) as error:
            raise blame(error, doing, self.source, self.where) from error


def keyword(text: str, flag: str) -> tuple[str | None, str]:
    """`mask=torch.ones(3)` -> ("mask", "torch.ones(3)"); an expression without a name -> (None, it)."""
    try:
        call = ast.parse(f"f({text}\n)", mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise _bad(text, flag, error, shift=2) from None
    args, keywords = (call.args, call.keywords) if isinstance(call, ast.Call) else ([], [])
    if len(args) + len(keywords) != 1 or any(isinstance(a, ast.Starred) for a in args):
        hint = "repeat the flag, once for each input; a tuple that is one input needs its own parentheses"
        raise LoadError(f"{text!r} is not one input", where=flag, hint=hint)
    if keywords:
        return keywords[0].arg, ast.unparse(keywords[0].value)
    return None, text.strip()


def compiled(expression: str, flag: str) -> CodeType:
    """Raises LoadError with the column in the flag's own text."""
    try:
        code = compile(expression.strip(), flag, "eval", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise _bad(expression, flag, error, shift=0) from None
    linecache.cache[flag] = (len(expression), None, [expression + "\n"], flag)
    return code


def _bad(text: str, flag: str, error: SyntaxError | ValueError, shift: int) -> LoadError:
    column = max(1, (getattr(error, "offset", None) or 1) - shift)
    message = getattr(error, "msg", None) or str(error)
    return LoadError(f"not a Python expression: {message}", where=f"{flag}:1:{column}", hint=text)


def check_call(model: torch.nn.Module, inputs: Inputs, source: SourceFile) -> Inputs:
    """The inputs with keywords in the order of forward's parameters.

    Raises LoadError when forward cannot take them.
    """
    args, kwargs = inputs
    signature = inspect.signature(model.forward)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        takes = f"{type(model).__name__}.forward takes {signature}"
        given = ", ".join([*("one value" for _ in args), *(f"{k}=" for k in kwargs)]) or "nothing"
        hint = "make example_inputs() or --inputs give what it takes"
        raise LoadError(f"{error}: {takes}, the inputs give ({given})", where=source.path, hint=hint) from None
    order = {name: at for at, name in enumerate(signature.parameters)}
    return args, dict(sorted(kwargs.items(), key=lambda item: order.get(item[0], len(order))))


def _a(value: object) -> str:
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def _line_of(function: object, source: SourceFile) -> str:
    code = getattr(function, "__code__", None)
    return f"{source.path}:{code.co_firstlineno}:1" if isinstance(code, CodeType) else source.path
