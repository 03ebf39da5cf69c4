"""Products of matrices as people write them: F.linear and `@` on tensors with batch dimensions.

torch runs both as a product of flat matrices between reshapes that cost nothing (at::linear, at::matmul).  Where a
graph has the flat product between such reshapes, the operator says the same without them.
"""

from __future__ import annotations

from dataclasses import dataclass

from hiremate_gen.ir import Graph, Op, Ref, Value

RESHAPES = ("aten.view.default", "aten._unsafe_view.default")


@dataclass(frozen=True, slots=True)
class Operand:
    """A value with its batch dimensions, the last two swapped if `transposed`."""

    value: str
    transposed: bool = False


@dataclass(frozen=True, slots=True)
class Product:
    """`left @ right`, or F.linear(left, right, bias), with its result in `shape`."""

    left: Operand
    right: Operand
    shape: tuple[int, ...]
    linear: bool = False
    bias: str | None = None

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.left.value, self.right.value, *([self.bias] if self.bias is not None else []))


def product(graph: Graph, op: Op) -> Product | None:
    """`op` as a product, or None where only its own name says what it does."""
    if op.kwargs or not all(isinstance(a, Ref) for a in op.args):
        return None
    match op.target, op.inputs:
        case "aten.addmm.default", (bias, x, weight):
            return _linear(graph, x, weight, bias)
        case "aten.mm.default", (x, weight):
            return _linear(graph, x, weight, None) or _by_weight(graph, x, weight)
        case "aten.bmm.default", (left, right):
            return _batched(graph, left, right)
    return None


def reads(graph: Graph, op: Op) -> tuple[str, ...]:
    """The values that the line of `op` names: those around the reshapes that a product does without."""
    found = product(graph, op)
    return op.inputs if found is None else found.reads


def _linear(graph: Graph, x: str, weight: str, bias: str | None) -> Product | None:
    """addmm(bias, x.view(-1, k), weight.t()), for an x of three dimensions and more without a bias mm."""
    transposed = graph.maker.get(weight)
    if transposed is None or transposed.target != "aten.t.default" or not graph.index[transposed.inputs[0]].static:
        return None
    if bias is not None and len(graph.index[bias].shape) != 1:
        return None
    rows = _unflattened(graph, x)
    if rows is None and bias is None:
        return None
    left = rows or x
    shape = (*graph.index[left].shape[:-1], graph.index[weight].shape[-1])
    return Product(Operand(left), Operand(transposed.inputs[0]), shape, True, bias)


def _by_weight(graph: Graph, x: str, weight: str) -> Product | None:
    rows = _unflattened(graph, x)
    if rows is None or not graph.index[weight].static or not is_contiguous(graph.index[weight]):
        return None
    shape = (*graph.index[rows].shape[:-1], graph.index[weight].shape[-1])
    return Product(Operand(rows), Operand(weight), shape)


def _batched(graph: Graph, left: str, right: str) -> Product | None:
    """bmm of what has two batch dimensions before a reshape makes them one."""
    a, b = _with_batch(graph, left), _with_batch(graph, right)
    if a is None or b is None or graph.index[a.value].shape[:-2] != graph.index[b.value].shape[:-2]:
        return None
    shape = (*graph.index[a.value].shape[:-2], graph.index[left].shape[-2], graph.index[right].shape[-1])
    return Product(a, b, shape)


def _unflattened(graph: Graph, x: str) -> str | None:
    """What `x` has all but the last dimension of in one."""
    maker = graph.maker.get(x)
    if maker is None or maker.target not in RESHAPES:
        return None
    value, flat = graph.index[maker.inputs[0]], graph.index[x]
    merged = len(value.shape) > 2 and len(flat.shape) == 2 and value.shape[-1] == flat.shape[-1]
    return value.name if merged and is_contiguous(value) else None


def _with_batch(graph: Graph, value: str) -> Operand | None:
    maker = graph.maker.get(value)
    if maker is not None and maker.target == "aten.transpose.int":
        if [getattr(a, "text", "") for a in maker.args[1:]] not in (["1", "2"], ["2", "1"], ["-2", "-1"], ["-1", "-2"]):
            return None
        inner = _with_batch(graph, maker.inputs[0])
        return None if inner is None else Operand(inner.value, not inner.transposed)
    if maker is None or maker.target not in RESHAPES:
        return None
    wide, flat = graph.index[maker.inputs[0]], graph.index[value]
    merged = len(wide.shape) > 3 and len(flat.shape) == 3 and wide.shape[-2:] == flat.shape[-2:]
    return Operand(wide.name) if merged and is_contiguous(wide) else None


def is_contiguous(value: Value) -> bool:
    """As torch sees it: dimensions of one element may have any stride."""
    expected = 1
    for size, stride in zip(reversed(value.shape), reversed(value.stride), strict=True):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True
