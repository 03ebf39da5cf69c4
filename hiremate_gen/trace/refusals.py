"""What torch's tracer says, said again for people."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch.export._trace
from torch import fx, nn
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from hiremate_gen.errors import HiremateError, UnsupportedError
from hiremate_gen.trace.leaves import Leaf

Shown = Callable[[str], str]  # from the file of a stack frame to the words for it; empty for what is not the user's

_HINT = "a plan is made before there are values: use torch.where, or move the decision out of forward"
_HINT_CAUSAL = (
    "torch compares the mask with a causal one: say is_causal=True or False (tgt_is_causal, memory_is_causal) "
    "beside the mask, and it need not"
)
_DATA_DEPENDENT = ("GuardOnDataDependent", "DataDependent", "data-dependent")


@contextmanager
def quiet() -> Iterator[None]:
    """Keep torch from printing its graph, and lines with the time of day, when it refuses a model."""
    logs = [logging.getLogger(f"torch.{n}") for n in ("fx.experimental.symbolic_shapes", "_subclasses.fake_tensor")]
    module: Any = torch.export._trace
    before = [log.disabled for log in logs]
    for log in logs:
        log.disabled = True
    module.print = lambda *_, **__: None
    try:
        yield
    finally:
        del module.print
        for log, disabled in zip(logs, before, strict=True):
            log.disabled = disabled


def explain(error: Exception, shown: Shown) -> HiremateError:
    """The error to show for an exception of the tracer."""
    where, line = _position(error, shown)
    if isinstance(error, HiremateError):
        error.where = error.where or where
        return error
    text = f"{type(error).__name__}: {error}"
    if "torch._C.Generator" in text:
        return UnsupportedError(
            "forward draws from a torch.Generator of its own",
            where=where,
            hint="leave out generator=: numbers from torch's own generator are planned for, and come out the same",
        )
    if any(mark in text for mark in _DATA_DEPENDENT):
        op = _op(error) or _first(r"aten\.\w+", text)
        return UnsupportedError(
            "the step depends on the values of a tensor" + (f", read by {op}" if op else "") + line,
            where=where,
            hint=_HINT_CAUSAL if _in(error, "_detect_is_causal_mask") else _HINT,
        )
    first = next((row for row in str(error).splitlines() if row.strip()), type(error).__name__)
    return UnsupportedError(f"torch cannot trace the training step: {first.rstrip('.')}{line}", where=where)


def _in(error: Exception, function: str) -> bool:
    """Whether the error came up in this function."""
    return any(frame.name == function for frame in traceback.extract_tb(error.__traceback__))


def refuse_untrained(leaves: Sequence[Leaf]) -> None:
    """Raises UnsupportedError when no output needs a gradient."""
    if not any(leaf.differentiable for leaf in leaves):
        raise UnsupportedError(
            "nothing that forward returns needs a gradient: there is no training step to plan",
            hint="return the loss, or what it is made of, and leave requires_grad on for some parameter",
        )


def refuse_unknown_shapes(graph: fx.Graph, shown: Shown) -> None:
    """Raises UnsupportedError for the first op whose result has a shape, or is a number, that values decide."""
    for node in graph.nodes:
        value = node.meta.get("val")
        if value is not None and free_unbacked_symbols(value):
            where, line = "", ""
            for file, number, text in re.findall(
                r'File "([^"]+)", line (\d+), in .*\n\s+(.*)', node.meta.get("stack_trace") or ""
            ):
                if name := shown(file):
                    where, line = f"{name}:{number}", f": `{text.strip()}`"
            op = _first(r"aten\.\w+", str(node.target)) or str(node.target)
            message = f"the step depends on the values of a tensor, read by {op}{line}"
            raise UnsupportedError(message, where=where, hint=_HINT)


def _op(error: Exception) -> str:
    """The op that made the first symbol of the condition that torch could not decide."""
    graph = getattr(error, "partial_fx_graph", "")
    for symbol in sorted(str(s) for s in getattr(getattr(error, "cond", None), "free_symbols", ())):
        if op := _first(rf'"[^"]*\b{symbol}\b[^"]*" = torch\.ops\.(aten\.\w+)', str(graph)):
            return op
    return ""


def _first(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match[match.lastindex or 0] if match else ""


def _position(error: Exception, shown: Shown) -> tuple[str, str]:
    """The innermost line of the user's own files on the way to the error: where it is, and its text."""
    for exception in (error, error.__cause__, error.__context__):
        for frame in reversed(traceback.extract_tb(exception.__traceback__) if exception else []):
            if (name := shown(frame.filename)) and frame.lineno:
                text = f": `{frame.line}`" if frame.line else ""
                return f"{name}:{frame.lineno}:{(frame.colno or 0) + 1}", text
    return "", ""


def refuse_known(model: nn.Module, path: str, text: str) -> None:
    """Say what it is when a model with some kinds of code came out different from eager.

    `text` is that of the file at `path`.  Recurrent kernels write in place into parts of larger tensors, which a
    functional trace does not reproduce to the bit.  Autocast converts a weight once however often it is used, and a
    trace each time: gradients of the uses are then added up in another precision.
    """
    recurrent = (nn.RNNBase, nn.RNNCellBase)
    names = ((n, type(m).__name__) for n, m in model.named_modules() if isinstance(m, recurrent))
    found = next((f"{n} is {'a' if kind.startswith('G') else 'an'} {kind}" for n, kind in names), "")
    if found:
        raise UnsupportedError(
            f"recurrent layers cannot be planned bit for bit ({found})",
            hint="plan the part of the model before or after them as a module of its own",
        )
    rows = enumerate(text.split("\n"), 1)
    line = next((n for n, row in rows if re.search(r"\bautocast\(", row.partition("#")[0])), 0)
    if line:
        raise UnsupportedError(
            "weights that are used several times under autocast cannot be planned bit for bit",
            where=f"{path}:{line}",
            hint="use each weight once inside it, or convert the model with .to(torch.bfloat16) instead",
        )


@contextmanager
def no_inner_gradients() -> Iterator[None]:
    """While inside, gradients that forward asks for are refused: their own gradients are not in a trace."""
    original = torch.autograd.grad

    def refuse(*_: Any, **__: Any) -> Any:
        raise UnsupportedError(
            "forward takes gradients itself, with torch.autograd.grad: their own gradients cannot be planned",
            hint="plan the part of the model that has none as a module of its own",
        )

    torch.autograd.grad = refuse
    try:
        yield
    finally:
        torch.autograd.grad = original
