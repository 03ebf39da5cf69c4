"""The same op under the name that people know it by; tests/emit/test_calls.py compares each with its ATen op.

A name of `torch` or `torch.nn.functional` stands here only where it runs that op and no other.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Spelling = Callable[[list[str], dict[str, str]], str | None]  # arguments, keyword arguments -> expression

_TORCH = (
    "abs addmm bmm cat cos cumsum exp gather index_select log log2 log1p maximum minimum mm reciprocal relu rsqrt "
    "sigmoid sign sin sqrt square stack tanh tril triu floor ceil round erf amax amin argmax argmin cumprod flip roll "
    "native_batch_norm native_dropout native_group_norm native_layer_norm"
)
KNOWN = {f"aten.{name}.default": f"torch.{name}" for name in _TORCH.split()}
KNOWN |= {"aten.silu.default": "F.silu", "aten.gelu.default": "F.gelu", "aten.softplus.default": "F.softplus"}
KNOWN |= {
    "aten.where.self": "torch.where",
    "aten.arange.start": "torch.arange",
    "aten.arange.start_step": "torch.arange",
    "aten.arange.default": "torch.arange",
}
OPERATORS = {"aten.add.Tensor": "+", "aten.sub.Tensor": "-", "aten.mul.Tensor": "*", "aten.div.Tensor": "/"}
OPERATORS |= {
    f"aten.{name}.Tensor": sign
    for name, sign in (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="))
}
OPERATORS |= {t.replace("Tensor", "Scalar"): sign for t, sign in OPERATORS.items()}
OPERATORS["aten.pow.Tensor_Scalar"] = "**"
METHODS = {
    "aten.view.default": "view",
    "aten._unsafe_view.default": "view",
    "aten.t.default": "t",
    "aten.transpose.int": "transpose",
    "aten.permute.default": "permute",
    "aten.expand.default": "expand",
    "aten.unsqueeze.default": "unsqueeze",
    "aten.squeeze.dim": "squeeze",
    "aten.select.int": "select",
    "aten.split.Tensor": "split",
    "aten.split_with_sizes.default": "split_with_sizes",
    "aten.unbind.int": "unbind",
    "aten.sum.default": "sum",
    "aten.mean.default": "mean",
    "aten.sum.dim_IntList": "sum",
    "aten.mean.dim": "mean",
    "aten.masked_fill.Scalar": "masked_fill",
    "aten.neg.default": "neg",
    "aten.clone.default": "clone",
}
IN_PLACE = {
    "aten.relu.default": "relu_",
    "aten.tanh.default": "tanh_",
    "aten.exp.default": "exp_",
    "aten.sigmoid.default": "sigmoid_",
    "aten.neg.default": "neg_",
    "aten.masked_fill.Scalar": "masked_fill_",
}


def _softmax(name: str) -> Spelling:
    def spell(args: list[str], kwargs: dict[str, str]) -> str | None:
        return f"torch.{name}({args[0]}, {args[1]})" if args[2] == "False" and not kwargs else None

    return spell


def _embedding(args: list[str], kwargs: dict[str, str]) -> str | None:
    return f"F.embedding({args[1]}, {args[0]})" if len(args) == 2 and not kwargs else None


def _layer_norm(args: list[str], kwargs: dict[str, str]) -> str:
    return f"F.layer_norm({', '.join(args if args[4] != '1e-05' else args[:4])})"


def _batch_norm(args: list[str], kwargs: dict[str, str]) -> str:
    x, weight, bias, mean, var, training, momentum, eps = args
    rest = [training, *([f"momentum={momentum}"] if momentum != "0.1" else [])]
    return (
        f"F.batch_norm({', '.join([x, mean, var, weight, bias, *rest, *([f'eps={eps}'] if eps != '1e-05' else [])])})"
    )


def _max_pool(args: list[str], kwargs: dict[str, str]) -> str | None:
    return f"F.max_pool2d({', '.join(plain(a) for a in args)})" if not kwargs else None


def _convolution(args: list[str], kwargs: dict[str, str]) -> str | None:
    x, weight, bias, stride, padding, dilation, transposed, output_padding, groups = args
    dims = len(stride.split(","))
    given = [("stride", stride, "1"), ("padding", padding, "0"), ("dilation", dilation, "1"), ("groups", groups, "1")]
    if transposed == "True":
        given.insert(2, ("output_padding", output_padding, "0"))
    rest = [f"{name}={plain(text)}" for name, text, default in given if plain(text) != default]
    name = f"conv_transpose{dims}d" if transposed == "True" else f"conv{dims}d"
    return f"F.{name}({', '.join([x, weight, *([bias] if bias != 'None' else []), *rest])})"


def _dropout_backward(args: list[str], kwargs: dict[str, str]) -> str:
    return f"aten.native_dropout_backward({', '.join([*args[:2], scale(args[2])])})"


def scale(text: str) -> str:
    """What dropout divides by: `1.1111111111111112` as `1 / (1 - 0.1)`, where that is the same number."""
    kept = 1 / float(text) if float(text) else 0.0
    p = round(1 - kept, 6)
    return f"1 / (1 - {p})" if 0 < p < 1 and 1 / (1 - p) == float(text) else text


def stretch(args: list[str]) -> str | None:
    """The index for aten.slice by its arguments after the tensor: `:, 16:32`."""
    dim, start, end, step = (*args, *("0", "None", "None", "1")[len(args) :])
    if dim not in ("0", "1", "2", "3"):
        return None
    ends = ("" if start in ("0", "None") else start, "" if end in ("None", str(2**63 - 1)) else end)
    return ", ".join([*[":"] * int(dim), ":".join([*ends, *([step] if step != "1" else [])])])


def plain(text: str) -> str:
    """`[2, 2]` as `2`."""
    items = re.fullmatch(r"\[(-?\d+(?:, -?\d+)*)\]", text)
    return items[1].split(", ")[0] if items and len(set(items[1].split(", "))) == 1 else text


# Ops that give several results are spelled so where the first alone is wanted.
SPELLINGS: dict[str, Spelling] = {
    "aten._softmax.default": _softmax("softmax"),
    "aten._log_softmax.default": _softmax("log_softmax"),
    "aten.embedding.default": _embedding,
    "aten.native_layer_norm.default": _layer_norm,
    "aten.native_batch_norm.default": _batch_norm,
    "aten.max_pool2d_with_indices.default": _max_pool,
    "aten.convolution.default": _convolution,
    "aten.native_dropout_backward.default": _dropout_backward,
}
