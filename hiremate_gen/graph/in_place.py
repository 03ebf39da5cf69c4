"""Results that lie in an operand: where that is allowed, and where the bits hang on it because eager's lie there."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import fx
from torch._ops import OpOverload

from hiremate_gen.graph.kinds import overwrites, rounds_by_place
from hiremate_gen.ir import Op, Ref, Value


def overwritable(values: Mapping[str, Value], op: Op, target: OpOverload) -> tuple[str, ...]:
    """Inputs that the result may overwrite: they own their storage and have the result's type and layout."""
    out = op.outputs[0]
    if out is None:
        return ()
    is_complex = values[out].dtype.startswith("complex")
    places = overwrites(target, scaled=bool(op.kwargs), is_complex=is_complex)
    return tuple(name for at in places if (name := _fitting(values, op, at)))


def in_first(values: Mapping[str, Value], op: Op) -> tuple[str, ...]:
    """The first operand, if the result may lie there."""
    name = _fitting(values, op, 0)
    return (name,) if name else ()


def lies_in_first(node: fx.Node, target: OpOverload) -> bool:
    """Whether the model makes the result in the first operand, as `z *= w`, and elsewhere it would have other bits.

    The trace has such calls with a result of its own; the node that it came from has the call itself.
    """
    value = node.meta["val"]
    if not isinstance(value, torch.Tensor) or not value.is_complex():
        return False
    called = {str(source.target) for source in node.meta.get("from_node", ())}
    packet, _, overload = str(target).rpartition(".")
    return f"{packet}_.{overload}" in called and rounds_by_place(target, scaled=bool(node.kwargs))


def read_once(node: fx.Node, name: str) -> bool:
    """Whether nothing else reads the value called `name` that stands at `node`."""
    return node.name == name and len(node.users) == 1


def _fitting(values: Mapping[str, Value], op: Op, at: int) -> str | None:
    arg, out = op.args[at], op.outputs[0]
    if not isinstance(arg, Ref) or out is None:
        return None
    a, b = values[arg.name], values[out]
    same = (a.shape, a.stride, a.dtype, a.bytes) == (b.shape, b.stride, b.dtype, b.bytes)
    others = [other for i, other in enumerate(op.args) if i != at and isinstance(other, Ref)]
    aliased = any(values[o.name].root == a.root for o in others)
    return a.name if same and a.root == a.name and not a.static and a.kind != "tangent" and not aliased else None
