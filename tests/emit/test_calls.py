"""The names and operators that emitted files use are the ops that they stand for, to the bit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from hiremate_gen.emit.calls import _IN_PLACE, _KNOWN, _METHODS, _OPERATORS, call
from hiremate_gen.graph.kinds import IN_PLACE
from hiremate_gen.ir import Graph, Literal, Op, Ref

EMPTY = Graph((), (), (), ())
ARGUMENTS: dict[str, tuple[object, ...]] = {
    "aten.addmm.default": ("v", "a", "b"),
    "aten.mm.default": ("a", "b"),
    "aten.bmm.default": ("t", "t"),
    "aten.cat.default": (("a", "b"),),
    "aten.view.default": ("a", "[4, 16]"),
    "aten._unsafe_view.default": ("a", "[4, 16]"),
    "aten.transpose.int": ("a", "0", "1"),
    "aten.permute.default": ("t", "[2, 0, 1]"),
    "aten.expand.default": ("v", "[8, 8]"),
    "aten.unsqueeze.default": ("a", "1"),
    "aten.squeeze.dim": ("o", "0"),
    "aten.select.int": ("a", "1", "3"),
    "aten.split.Tensor": ("a", "3", "1"),
    "aten.split_with_sizes.default": ("a", "[3, 5]", "1"),
    "aten.unbind.int": ("a", "1"),
    "aten.masked_fill.Scalar": ("a", "m", "0.5"),
    "aten.threshold_backward.default": ("a", "b", "0"),
    "aten.leaky_relu.default": ("a", "0.2"),
}
TARGETS = sorted({*_KNOWN, *_METHODS, *_OPERATORS, *(str(op) for op in IN_PLACE)})


def values() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    a, b = torch.rand(8, 8) + 0.1, torch.randn(8, 8)
    return {"a": a, "b": b, "v": torch.randn(8), "t": torch.randn(4, 4, 4), "o": torch.randn(1, 8), "m": b > 0}


def arguments(target: str) -> tuple[object, ...]:
    default = ("a", "0.7") if target.endswith(".Scalar") else ("a", "b") if target in _OPERATORS else ("a",)
    return ARGUMENTS.get(target, default)


def op_of(target: str) -> Op:
    def read(item: object) -> Ref | Literal | tuple[Ref | Literal, ...]:
        if isinstance(item, tuple):
            return tuple(Ref(i) if i in values() else Literal(i) for i in item)
        return Ref(str(item)) if item in values() else Literal(str(item))

    return Op("op", target, tuple(read(i) for i in arguments(target)), (), ("out",), False, False)


def run(text: str, names: dict[str, torch.Tensor]) -> object:
    return eval(text, {"torch": torch, "F": F, "aten": torch.ops.aten}, names)


def resolve(target: str) -> Callable[..., object]:
    _, name, overload = target.split(".")
    return getattr(getattr(torch.ops.aten, name), overload)  # type: ignore[no-any-return]


def expected(target: str) -> object:
    names = values()
    items = [
        [names[i] for i in item] if isinstance(item, tuple) else names[item] if item in names else eval(str(item))
        for item in arguments(target)
    ]
    return resolve(target)(*items)


def same(a: object, b: object) -> bool:
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and torch.equal(a, b)
    return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))  # type: ignore[arg-type]


@pytest.mark.parametrize("target", TARGETS)
def test_expression(target: str) -> None:
    text = call(EMPTY, op_of(target), lambda v: v, "a.device", again=False, overwrites=None)
    assert same(run(text, values()), expected(target))


@pytest.mark.parametrize("target", sorted(str(op) for op in IN_PLACE))
def test_in_place(target: str) -> None:
    op = next(o for o in IN_PLACE if str(o) == target)
    for position in IN_PLACE[op]:
        root = arguments(target)[position]
        if root not in values():
            continue
        names = values()
        text = call(EMPTY, op_of(target), lambda v: v, "a.device", again=False, overwrites=str(root))
        out = run(text, names)
        assert isinstance(out, torch.Tensor)
        assert out.data_ptr() == names[str(root)].data_ptr()
        assert same(out, expected(target))


def test_in_place_names_are_of_ops_that_may_be_in_place() -> None:
    assert set(_IN_PLACE) <= {str(op) for op in IN_PLACE}
