"""The names, operators and idioms that emitted files use are the ops that they stand for, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from hiremate_gen.emit.calls import call, single
from hiremate_gen.emit.helpers import HELPERS
from hiremate_gen.emit.idioms import idiom
from hiremate_gen.emit.render import templates
from hiremate_gen.emit.spelling import IN_PLACE as IN_PLACE_NAMES
from hiremate_gen.emit.spelling import KNOWN, METHODS, OPERATORS, SPELLINGS, scale, stretch
from hiremate_gen.graph.kinds import IN_PLACE
from hiremate_gen.ir import Graph, Literal, Op, Ref, Value

EMPTY = Graph((), (), (), ())
ARGUMENTS: dict[str, tuple[object, ...]] = {
    "aten.addmm.default": ("v", "a", "b"),
    "aten.mm.default": ("a", "b"),
    "aten.bmm.default": ("t", "t"),
    "aten.cat.default": (("a", "b"),),
    "aten.stack.default": (("a", "b"), "1"),
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
    "aten.sum.dim_IntList": ("a", "[0]", "True"),
    "aten.mean.dim": ("a", "[1]", "True"),
    "aten.cumsum.default": ("a", "1"),
    "aten.cumprod.default": ("a", "1"),
    "aten.gather.default": ("a", "1", "i"),
    "aten.index_select.default": ("a", "1", "j"),
    "aten.maximum.default": ("a", "b"),
    "aten.minimum.default": ("a", "b"),
    "aten.amax.default": ("a", "[1]", "True"),
    "aten.amin.default": ("a", "[1]"),
    "aten.argmax.default": ("a", "1"),
    "aten.argmin.default": ("a", "1", "True"),
    "aten.flip.default": ("a", "[0, 1]"),
    "aten.roll.default": ("a", "[2]", "[1]"),
    "aten.where.self": ("m", "a", "b"),
    "aten.arange.default": ("7",),
    "aten.arange.start": ("2", "7"),
    "aten.arange.start_step": ("2", "17", "3"),
    "aten.pow.Tensor_Scalar": ("a", "3"),
    "aten._softmax.default": ("a", "-1", "False"),
    "aten._log_softmax.default": ("a", "1", "False"),
    "aten.embedding.default": ("a", "j"),
    "aten.native_layer_norm.default": ("a", "[8]", "v", "v", "1e-05"),
    "aten.native_group_norm.default": ("n", "w", "w", "2", "4", "36", "2", "1e-05"),
    "aten.native_batch_norm.default": ("n", "w", "w", "r", "r2", "True", "0.1", "1e-05"),
    "aten.native_dropout.default": ("a", "0.3", "True"),
    "aten.max_pool2d_with_indices.default": ("n", "[2, 2]", "[2, 2]"),
    "aten.native_dropout_backward.default": ("a", "m", "1.25"),
    "aten.convolution.default": ("n", "k", "w", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"),
}
MORE: dict[str, tuple[tuple[object, ...], ...]] = {
    "aten.convolution.default": (
        ("n", "k", "None", "[2, 2]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"),
        ("n", "k", "w", "[1, 2]", "[2, 0]", "[2, 1]", "False", "[0, 0]", "1"),
        ("n", "g", "w", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "2"),
        ("n", "k", "w", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[1, 1]", "1"),
        ("t", "k1", "None", "[1]", "[1]", "[1]", "False", "[0]", "1"),
    ),
    "aten.max_pool2d_with_indices.default": (("n", "[3, 3]", "[2, 2]", "[1, 1]"), ("n", "[3, 2]")),
    "aten.mean.dim": (("t", "[0, 1]"), ("t", "[1]")),
    "aten.sum.dim_IntList": (("t", "[0, 2]"), ("t", "[1]", "False")),
    "aten.split_with_sizes.default": (("a", "[3, 5]"),),
    "aten.permute.default": (("a", "[1, 0]"),),
    "aten.native_layer_norm.default": (("a", "[8]", "None", "None", "0.001"),),
    "aten.native_batch_norm.default": (("n", "None", "None", "None", "None", "True", "0.2", "0.001"),),
}
TARGETS = sorted({*KNOWN, *METHODS, *OPERATORS, *SPELLINGS, *(str(op) for op in IN_PLACE)})
CASES = [(target, arguments) for target in TARGETS for arguments in (ARGUMENTS.get(target), *MORE.get(target, ()))]


def values() -> dict[str, Tensor]:
    torch.manual_seed(0)
    a, b = torch.rand(8, 8) + 0.1, torch.randn(8, 8)
    found = {"a": a, "b": b, "v": torch.randn(8), "t": torch.randn(4, 4, 4), "o": torch.randn(1, 8), "m": b > 0}
    found |= {"i": torch.randint(0, 8, (8, 8)), "j": torch.tensor([1, 5, 2]), "n": torch.randn(2, 4, 6, 6)}
    found |= {
        "w": torch.randn(4),
        "k": torch.randn(4, 4, 3, 3),
        "g": torch.randn(4, 2, 3, 3),
        "k1": torch.randn(4, 4, 3),
    }
    return found | {"r": torch.zeros(4), "r2": torch.ones(4)}


def arguments_of(target: str, given: tuple[object, ...] | None = None) -> tuple[object, ...]:
    default = ("a", "0.7") if target.endswith(".Scalar") else ("a", "b") if target in OPERATORS else ("a",)
    return given or ARGUMENTS.get(target, default)


def op_of(target: str, given: tuple[object, ...] | None = None) -> Op:
    def read(item: object) -> Ref | Literal | tuple[Ref | Literal, ...]:
        if isinstance(item, tuple):
            return tuple(Ref(i) if i in values() else Literal(i) for i in item)
        return Ref(str(item)) if item in values() else Literal(str(item))

    several = isinstance(expected(target, given), tuple)
    return Op("op", target, tuple(read(i) for i in arguments_of(target, given)), (), ("out",), several, False)


def run(text: str, names: dict[str, Tensor]) -> object:
    torch.manual_seed(1)
    return eval(text, helpers() | {"F": F}, names)


@cache
def helpers() -> dict[str, object]:
    """The functions that files have of their own, and what these use."""
    model = SimpleNamespace(helpers=frozenset(HELPERS))
    source = "from __future__ import annotations\n" + templates().get_template("helpers.py.jinja").render(model=model)
    space: dict[str, object] = {"torch": torch, "aten": torch.ops.aten}
    exec(source, space)
    return space


def resolve(target: str) -> Callable[..., object]:
    _, name, overload = target.split(".")
    return getattr(getattr(torch.ops.aten, name), overload)  # type: ignore[no-any-return]


def expected(target: str, given: tuple[object, ...] | None = None) -> object:
    names = values()
    items = [
        [names[i] for i in item] if isinstance(item, tuple) else names[item] if item in names else eval(str(item))
        for item in arguments_of(target, given)
    ]
    torch.manual_seed(1)
    return resolve(target)(*items)


def same(a: object, b: object) -> bool:
    if isinstance(a, Tensor):
        return isinstance(b, Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))  # type: ignore[arg-type]


@pytest.mark.parametrize(("target", "given"), CASES)
def test_expression(target: str, given: tuple[object, ...] | None) -> None:
    text = call(EMPTY, op_of(target, given), lambda v: v, "a.device", again=False, overwrites=None)
    assert same(run(text, values()), expected(target, given))


@pytest.mark.parametrize(("target", "given"), [c for c in CASES if c[0] in SPELLINGS and single(EMPTY, op_of(*c))])
def test_first_result_alone(target: str, given: tuple[object, ...] | None) -> None:
    op = op_of(target, given)
    text = call(EMPTY, op, lambda v: v, "a.device", again=False, overwrites=None, first=True)
    assert text.startswith("F.")
    whole = expected(target, given)
    assert isinstance(whole, tuple) and same(run(text, values()), whole[0])


@pytest.mark.parametrize("target", sorted(str(op) for op in IN_PLACE))
def test_in_place(target: str) -> None:
    op = next(o for o in IN_PLACE if str(o) == target)
    for position in IN_PLACE[op]:
        root = arguments_of(target)[position]
        if root not in values():
            continue
        names = values()
        text = call(EMPTY, op_of(target), lambda v: v, "a.device", again=False, overwrites=str(root))
        out = run(text, names)
        assert isinstance(out, Tensor)
        assert out.data_ptr() == names[str(root)].data_ptr()
        assert same(out, expected(target))


def test_in_place_names_are_of_ops_that_may_be_in_place() -> None:
    assert set(IN_PLACE_NAMES) <= {str(op) for op in IN_PLACE}


class Recorded(TorchDispatchMode):
    """The kernels that run, views left out."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        if not str(func).startswith(("aten.view", "aten._unsafe_view", "aten.t.", "aten.transpose", "aten.expand")):
            self.ran.append(str(func))
        return func(*args, **(kwargs or {}))


def value(name: str, tensor: Tensor, kind: str = "activation", root: str = "") -> Value:
    size = 4 * tensor.numel()
    return Value(name, tuple(tensor.shape), tensor.stride(), "float32", kind, root or name, 0 if root else size)


def product_graph(target: str, inputs: dict[str, Tensor], args: list[tuple[str, list[str]]], made: str) -> Graph:
    """`args` are values of `inputs`, each seen through views: "flat", "t" or "swap"."""
    values_, ops, refs = [], [], []
    for name, tensor in inputs.items():
        values_.append(value(name, tensor, "parameter" if name in ("weight", "bias") else "activation"))
    for name, views in args:
        now, tensor = name, inputs[name]
        for view in views:
            new = f"{now}_{view}"
            if view == "flat":
                tensor = tensor.view(-1, *tensor.shape[-2 if target == "aten.bmm.default" else -1 :])
                ops.append(Op(new, "aten.view.default", (Ref(now),), (), (new,), False, False, view=True))
            elif view == "t":
                tensor = tensor.t()
                ops.append(Op(new, "aten.t.default", (Ref(now),), (), (new,), False, False, view=True))
            else:
                tensor = tensor.transpose(1, 2)
                swap = (Ref(now), Literal("1"), Literal("2"))
                ops.append(Op(new, "aten.transpose.int", swap, (), (new,), False, False, view=True))
            values_.append(value(new, tensor, root=name))
            now = new
        refs.append(Ref(now))
    out = value("out", torch.empty(1))
    ops.append(Op("op", target, tuple(refs), (), ("out",), False, False))
    return Graph((*values_, out), tuple(ops), (), ())


PRODUCTS: dict[str, tuple[str, dict[str, tuple[int, ...]], list[tuple[str, list[str]]], str]] = {
    "linear, 3 dimensions": (
        "aten.addmm.default",
        {"bias": (5,), "x": (2, 3, 4), "weight": (5, 4)},
        [("bias", []), ("x", ["flat"]), ("weight", ["t"])],
        "F.linear(x, weight, bias)",
    ),
    "linear, 2 dimensions": (
        "aten.addmm.default",
        {"bias": (5,), "x": (6, 4), "weight": (5, 4)},
        [("bias", []), ("x", []), ("weight", ["t"])],
        "F.linear(x, weight, bias)",
    ),
    "linear without bias": (
        "aten.mm.default",
        {"x": (2, 3, 4), "weight": (5, 4)},
        [("x", ["flat"]), ("weight", ["t"])],
        "F.linear(x, weight)",
    ),
    "by a weight": (
        "aten.mm.default",
        {"x": (2, 3, 5), "weight": (5, 4)},
        [("x", ["flat"]), ("weight", [])],
        "x @ weight",
    ),
    "batches": (
        "aten.bmm.default",
        {"x": (2, 3, 4, 5), "y": (2, 3, 5, 6)},
        [("x", ["flat"]), ("y", ["flat"])],
        "x @ y",
    ),
    "batches, transposed": (
        "aten.bmm.default",
        {"x": (2, 3, 5, 4), "y": (2, 3, 6, 5)},
        [("x", ["flat", "swap"]), ("y", ["flat", "swap"])],
        "x.transpose(-2, -1) @ y.transpose(-2, -1)",
    ),
}


@pytest.mark.parametrize("case", PRODUCTS)
@pytest.mark.parametrize("grad", [False, True])
def test_product_runs_the_same_kernel(case: str, grad: bool) -> None:
    """`grad`: torch folds batch dimensions by other rules where a weight requires a gradient."""
    target, shapes, args, text = PRODUCTS[case]
    torch.manual_seed(0)
    inputs = {name: torch.randn(shape) for name, shape in shapes.items()}
    if grad and "weight" in inputs:
        inputs["weight"].requires_grad_()
    graph = product_graph(target, inputs, args, text)
    found = idiom(graph, graph.op["op"], lambda v: v, ())
    assert found is not None and found[0] == text
    flat = [_seen(inputs[name].detach(), views, -2 if target == "aten.bmm.default" else -1) for name, views in args]
    with torch.no_grad(), Recorded() as recorded:
        result = run(found[0], inputs)
    assert recorded.ran == [target]
    assert isinstance(result, Tensor) and tuple(result.shape) == found[1]
    assert torch.equal(result, resolve(target)(*flat).view(found[1]))  # type: ignore[attr-defined]


def _seen(tensor: Tensor, views: list[str], keep: int) -> Tensor:
    for view in views:
        tensor = tensor.view(-1, *tensor.shape[keep:]) if view == "flat" else tensor.t() if view == "t" else tensor.mT
    return tensor


@pytest.mark.parametrize("shape", [(7, 5), (3, 4, 5), (1000, 33), (1, 8), (4096, 3)])
def test_sum_of_rows(shape: tuple[int, ...]) -> None:
    """The gradient of a bias: summed over rows with the dimension kept and then reshaped, or in one."""
    torch.manual_seed(0)
    x = torch.randn(shape)
    flat = x.view(-1, shape[-1])
    whole = torch.ops.aten.sum.dim_IntList(flat, [0], True).view(shape[-1])
    assert torch.equal(flat.sum(0), whole)
    graph = Graph((value("x", flat), value("out", whole[None])), (), (), ())
    op = Op("op", "aten.sum.dim_IntList", (Ref("x"), (Literal("0"),), Literal("True")), (), ("out",), False, True)
    assert idiom(graph, op, lambda v: v, (shape[-1],)) == ("x.sum(0)", (shape[-1],))
    assert idiom(graph, op, lambda v: v, (1, shape[-1])) is None


def test_contiguous_only_where_it_copies() -> None:
    x = torch.randn(4, 6)
    contiguous = (("memory_format", Literal("torch.contiguous_format")),)
    for tensor, text in ((x.t(), "x.contiguous()"), (x, None), (x[:1].t(), None)):
        graph = Graph((value("x", tensor), value("out", tensor)), (), (), ())
        op = Op("op", "aten.clone.default", (Ref("x"),), contiguous, ("out",), False, False)
        found = idiom(graph, op, lambda v: v, tuple(tensor.shape))
        assert (found and found[0]) == text
        if text:
            assert tensor.contiguous().data_ptr() != tensor.data_ptr()


@pytest.mark.parametrize(
    ("arguments", "index"),
    [
        (("1", "16", "32"), ":, 16:32"),
        (("1", "0", "4"), ":, :4"),
        (("0", "3", str(2**63 - 1)), "3:"),
        (("2", "1", "9", "2"), ":, :, 1:9:2"),
        (("1", "-3", "-1"), ":, -3:-1"),
    ],
)
def test_stretches(arguments: tuple[str, ...], index: str) -> None:
    """Views of a stretch are indexed: the same view as the op makes."""
    x = torch.randn(6, 40, 10)
    assert stretch(list(arguments)) == index
    expected = torch.ops.aten.slice.Tensor(x, *map(int, arguments))
    shown = eval(f"x[{index}]", {"x": x})
    assert shown.data_ptr() == expected.data_ptr()
    assert (shown.shape, shown.stride()) == (expected.shape, expected.stride())


def test_stretches_from_the_last_dimension_keep_their_op() -> None:
    assert stretch(["-1", "0", "4"]) is None


def test_scales_of_dropout() -> None:
    """What forward multiplied by, to the bit, as its probability."""
    for k in range(1, 100):
        p = k / 100
        text = scale(repr(1 / (1 - p)))
        assert text == f"1 / (1 - {p})" and eval(text) == 1 / (1 - p)
    for other in ("1.0", "0.0", "1.3", "2", "-2.0"):
        assert eval(scale(other)) == float(other)
