"""Ops that together with the reshapes around them are one call that everybody knows."""

from __future__ import annotations

from hiremate_gen.emit.calls import Show, atom
from hiremate_gen.emit.products import is_contiguous, product
from hiremate_gen.ir import Graph, Literal, Op, Ref

Shape = tuple[int, ...]


def idiom(graph: Graph, op: Op, show: Show, shape: Shape) -> tuple[str, Shape] | None:
    """An expression for `op`, whose result is wanted in `shape`, and the shape that it gives; None where the op's own
    is all there is."""
    match op.target:
        case "aten.addmm.default" | "aten.mm.default" | "aten.bmm.default":
            return _product(graph, op, show)
        case "aten.sum.dim_IntList":
            return _sum_of_rows(graph, op, show, shape)
        case "aten.clone.default":
            return _contiguous(graph, op, show)
        case "aten._to_copy.default":
            return _to(graph, op, show)
    return None


def _product(graph: Graph, op: Op, show: Show) -> tuple[str, Shape] | None:
    found = product(graph, op)
    if found is None:
        return None
    sides = [
        show(o.value) if not o.transposed else f"{atom(show(o.value))}.transpose(-2, -1)"
        for o in (found.left, found.right)
    ]
    if not found.linear:
        return f"{atom(sides[0])} @ {atom(sides[1])}", found.shape
    terms = [*sides, *([show(found.bias)] if found.bias is not None else [])]
    return f"F.linear({', '.join(terms)})", found.shape


def _sum_of_rows(graph: Graph, op: Op, show: Show, shape: Shape) -> tuple[str, Shape] | None:
    """A sum over the first dimension that keeps it, read without it."""
    x, *rest = op.args
    if rest != [(Literal("0"),), Literal("True")] or op.kwargs or not isinstance(x, Ref):
        return None
    return (f"{atom(show(x.name))}.sum(0)", shape) if graph.index[x.name].shape[1:] == shape else None


def _contiguous(graph: Graph, op: Op, show: Show) -> tuple[str, Shape] | None:
    """A copy of what is not contiguous: for anything else `contiguous()` would be no copy."""
    x = op.args[0]
    if op.kwargs != (("memory_format", Literal("torch.contiguous_format")),) or not isinstance(x, Ref):
        return None
    value = graph.index[x.name]
    return None if is_contiguous(value) else (f"{atom(show(x.name))}.contiguous()", value.shape)


def _to(graph: Graph, op: Op, show: Show) -> tuple[str, Shape] | None:
    """A copy in another type: for the same one `to` would be no copy."""
    x, output = op.args[0], op.outputs[0]
    if [k for k, _ in op.kwargs] != ["dtype"] or len(op.args) > 1 or not isinstance(x, Ref) or output is None:
        return None
    value, dtype = graph.index[x.name], op.kwargs[0][1]
    if value.dtype == graph.index[output].dtype or not isinstance(dtype, Literal):
        return None
    return f"{atom(show(x.name))}.to({dtype.text})", value.shape
