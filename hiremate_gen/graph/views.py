"""Chains of views, less the links that do nothing."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from hiremate_gen.graph.kinds import is_view

aten = torch.ops.aten
_RESHAPES = (aten.view.default, aten._unsafe_view.default)


def same_view(node: fx.Node) -> fx.Node | None:
    """A tensor that `node` was made from by views only and that it equals in shape, strides, offset and type.

    Autograd's formulas transpose what was transposed, and expand to the shape that is there.
    """
    value = node.meta["val"]
    if not isinstance(value, torch.Tensor):
        return None
    found = None
    at = node
    while isinstance(at.target, torch._ops.OpOverload) and (is_view(at.target) or at.target is aten.detach.default):
        at = at.args[0]  # type: ignore[assignment]
        if not isinstance(at, fx.Node) or not isinstance(at.meta.get("val"), torch.Tensor):
            break
        if _geometry(at.meta["val"]) == _geometry(value):
            found = at
    return found


def shortened(node: fx.Node) -> tuple[Any, ...]:
    """Arguments of a view: one reshape of a reshape of a contiguous tensor reshapes that tensor."""
    if node.target not in _RESHAPES:
        return node.args
    base = node.args[0]
    while isinstance(base, fx.Node) and base.target in _RESHAPES:
        inner = base.args[0]
        if not isinstance(inner, fx.Node) or not inner.meta["val"].is_contiguous():
            break
        base = inner
    return (base, *node.args[1:])


def _geometry(tensor: torch.Tensor) -> tuple[object, ...]:
    conj, neg = tensor.is_conj(), tensor.is_neg()
    return tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset(), tensor.dtype, conj, neg
