"""The gradients that emitted files have functions of their own for are those of the ATen ops, to the bit."""

from __future__ import annotations

import pytest
import torch
from test_calls import resolve, run, same, value
from torch import Tensor

from hiremate_gen.emit.calls import call
from hiremate_gen.emit.helpers import HELPERS, by_helper
from hiremate_gen.ir import Graph, Literal, Op, Ref

CONV, BATCH = "aten.convolution_backward.default", "aten.native_batch_norm_backward.default"
LAYER, RELU = "aten.native_layer_norm_backward.default", "aten.threshold_backward.default"
ALL = "[True, True, True]"


def tensors() -> dict[str, Tensor]:
    torch.manual_seed(0)
    image, weight = torch.randn(2, 4, 7, 6), torch.randn(6, 4, 3, 3)
    found = {"image": image, "weight": weight, "row": torch.randn(2, 4, 9), "weight1": torch.randn(6, 4, 3)}
    found |= {"grouped": torch.randn(6, 2, 3, 3), "down": torch.randn(4, 6, 3, 3), "volume": torch.randn(1, 4, 5, 5, 5)}
    found |= {"weight3": torch.randn(6, 4, 3, 3, 3)}
    found |= {"channels": torch.randn(4), "mean": image.mean((0, 2, 3)), "rstd": torch.rand(4) + 0.5}
    found |= {"grad_image": torch.randn(2, 4, 7, 6), "rows": torch.randn(5, 8), "grad_rows": torch.randn(5, 8)}
    return found | {
        "scale": torch.randn(8),
        "shift": torch.randn(8),
        "mean5": torch.randn(5, 1),
        "rstd5": torch.rand(5, 1),
    }


def conv(
    x: str, weight: str, stride: str, padding: str, dilation: str, transposed: str, more: str, groups: str, mask: str
):
    """A case: names of the tensors, then the other arguments as they stand in the graph."""
    names = tensors()
    numbers = [eval(t) for t in (stride, padding, dilation, transposed, more, groups)]
    out = torch.ops.aten.convolution(names[x], names[weight], None, *numbers)
    sizes = f"[{out.shape[1]}]" if mask.endswith("True]") else "[0]"
    grad = torch.randn(out.shape, generator=torch.Generator().manual_seed(1))
    return CONV, {"grad": grad}, ("grad", x, weight, sizes, stride, padding, dilation, transposed, more, groups, mask)


CASES = {
    "plain": conv("image", "weight", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]"),
    "all": conv("image", "weight", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", ALL),
    "first": conv("image", "weight", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[False, True, True]"),
    "uneven": conv("image", "weight", "[1, 2]", "[2, 0]", "[2, 1]", "False", "[0, 0]", "1", ALL),
    "groups": conv("image", "grouped", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2", ALL),
    "transposed": conv("image", "down", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[1, 1]", "1", ALL),
    "a row": conv("row", "weight1", "[2]", "[1]", "[1]", "False", "[0]", "1", ALL),
    "a volume": conv("volume", "weight3", "[1, 1, 1]", "[1, 1, 1]", "[1, 1, 1]", "False", "[0, 0, 0]", "1", ALL),
    "batch norm": (
        BATCH,
        {},
        ("grad_image", "image", "channels", "None", "None", "mean", "rstd", "True", "1e-05", ALL),
    ),
    "its eps": (BATCH, {}, ("grad_image", "image", "channels", "None", "None", "mean", "rstd", "True", "0.001", ALL)),
    "layer norm": (LAYER, {}, ("grad_rows", "rows", "[8]", "mean5", "rstd5", "scale", "shift", ALL)),
}
OTHERS = {
    "running statistics": (
        BATCH,
        {},
        ("grad_image", "image", "channels", "mean", "rstd", "None", "None", "False", "1e-05", ALL),
    ),
    "no affine": (
        BATCH,
        {},
        ("grad_image", "image", "None", "None", "None", "mean", "rstd", "True", "1e-05", "[True, False, False]"),
    ),
    "no shift": (LAYER, {}, ("grad_rows", "rows", "[8]", "mean5", "rstd5", "scale", "None", "[True, True, False]")),
}


def arg(text: str, names: dict[str, Tensor]):
    if text in names:
        return Ref(text)
    return tuple(Literal(t) for t in text[1:-1].split(", ")) if text.startswith("[") else Literal(text)


def built(case) -> tuple[Graph, Op, dict[str, Tensor]]:
    target, more, texts = case
    names = tensors() | more
    used = {t: names[t] for t in texts if t in names}
    op = Op("op", target, tuple(arg(t, names) for t in texts), (), ("a", "b", "c"), True, False)
    return Graph(tuple(value(n, t) for n, t in used.items()), (), (), ()), op, used


@pytest.mark.parametrize("name", CASES)
def test_helper(name: str) -> None:
    graph, op, names = built(CASES[name])
    text = call(graph, op, lambda v: v, "a.device", again=False, overwrites=None)
    assert text.partition("(")[0] in HELPERS
    expected = resolve(op.target)(*(names.get(t, None) if t in names else eval(t) for t in CASES[name][2]))
    got = run(text, names)
    assert len(got) == len(expected) == 3
    assert all((a is None and b is None) or same(a, b) for a, b in zip(got, expected, strict=True))


def test_defaults_are_left_out() -> None:
    texts = {name: call(*built(CASES[name])[:2], lambda v: v, "", again=False, overwrites=None) for name in CASES}
    assert texts["plain"] == "conv_backward(grad, image, weight, [True, True, False])"
    assert texts["uneven"].endswith("[True, True, True], stride=[1, 2], padding=[2, 0], dilation=[2, 1])")
    assert texts["a row"].endswith("[True, True, True], stride=2, padding=1)")
    assert texts["batch norm"] == "batch_norm_backward(grad_image, image, channels, mean, rstd)"
    assert texts["its eps"].endswith("rstd, eps=0.001)")


@pytest.mark.parametrize("name", OTHERS)
def test_what_a_helper_does_not_do_stays_with_the_op(name: str) -> None:
    graph, op, _ = built(OTHERS[name])
    assert by_helper(graph, op, list(OTHERS[name][2])) is None


@pytest.mark.parametrize(("threshold", "helped"), [("0", True), ("0.5", False)])
def test_relu_in_place(threshold: str, helped: bool) -> None:
    names = {n: tensors()[n] for n in ("grad_rows", "rows")}
    op = Op("op", RELU, (Ref("grad_rows"), Ref("rows"), Literal(threshold)), (), ("out",), False, False)
    expected = resolve(RELU)(names["grad_rows"].clone(), names["rows"], eval(threshold))
    text = call(Graph((), (), (), ()), op, lambda v: v, "", again=False, overwrites="grad_rows")
    assert text.startswith("relu_backward_(grad_rows, rows)") is helped
    got = run(text, names)
    assert same(got, expected) and got.data_ptr() == names["grad_rows"].data_ptr()
