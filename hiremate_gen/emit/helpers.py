"""Gradients whose ATen op takes many arguments that say little: the file has a function of its own for each of them.

The functions are written in templates/helpers.py.jinja; tests/emit/test_helpers.py compares each with its ATen op.
"""

from __future__ import annotations

from hiremate_gen.emit.spelling import plain
from hiremate_gen.ir import Arg, Graph, Literal, Op, Ref

HELPERS = ("layer_norm_backward", "batch_norm_backward", "conv_backward", "relu_backward_")
_ALL_THREE = (Literal("True"),) * 3
_CONV = (  # arguments of aten.convolution_backward with a default in conv_backward
    (4, "stride", "1"),
    (5, "padding", "0"),
    (6, "dilation", "1"),
    (7, "transposed", "False"),
    (8, "output_padding", "0"),
    (9, "groups", "1"),
)


def by_helper(graph: Graph, op: Op, texts: list[str]) -> str | None:
    """The call that does what `op` does, whose arguments read `texts`; None where no function does just that."""
    if op.kwargs:
        return None
    if op.target == "aten.native_layer_norm_backward.default" and _whole_layer_norm(graph, op):
        return f"layer_norm_backward({', '.join([*texts[:2], *texts[3:7]])})"
    if op.target == "aten.native_batch_norm_backward.default" and _whole_batch_norm(op):
        rest = [f"eps={texts[8]}"] * (texts[8] != "1e-05")
        return f"batch_norm_backward({', '.join([*texts[:3], *texts[5:7], *rest])})"
    if op.target == "aten.convolution_backward.default" and _whole_conv(graph, op):
        rest = [f"{name}={plain(texts[k])}" for k, name, default in _CONV if plain(texts[k]) != default]
        return f"conv_backward({', '.join([*texts[:3], texts[10], *rest])})"
    return None


def relu_in_place(op: Op, args: tuple[Arg, ...], root: str) -> bool:
    """Whether `op`, with its result in the storage of `root`, is what `relu_backward_` does."""
    of_relu = op.target == "aten.threshold_backward.default" and args[2] == Literal("0")
    return of_relu and not op.kwargs and args[0] == Ref(root)


def _whole_layer_norm(graph: Graph, op: Op) -> bool:
    """All gradients of an affine layer norm over the shape of its weight."""
    affine = isinstance(op.args[5], Ref) and isinstance(op.args[6], Ref)
    return affine and op.args[2] == _numbers(_shape(graph, op.args[5])) and op.args[7] == _ALL_THREE


def _whole_batch_norm(op: Op) -> bool:
    """All gradients of an affine batch norm in training, which reads no running statistics."""
    running = op.args[3:5] == (Literal("None"), Literal("None"))
    return running and isinstance(op.args[2], Ref) and op.args[7] == Literal("True") and op.args[9] == _ALL_THREE


def _whole_conv(graph: Graph, op: Op) -> bool:
    """The size that it is told of the bias is that of the gradient's channels, or of no account."""
    grad, x, mask = op.args[0], op.args[1], op.args[10]
    if not isinstance(mask, tuple) or len(_shape(graph, grad)) != len(_shape(graph, op.args[2])):
        return False
    batched = len(_shape(graph, x)) == len(_shape(graph, grad))
    return batched and (mask[2] == Literal("False") or op.args[3] == _numbers(_shape(graph, grad)[1:2]))


def _shape(graph: Graph, arg: Arg) -> tuple[int, ...]:
    return graph.index[arg.name].shape if isinstance(arg, Ref) else ()


def _numbers(shape: tuple[int, ...]) -> tuple[Literal, ...]:
    return tuple(Literal(str(n)) for n in shape)
