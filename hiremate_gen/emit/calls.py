"""One op as one Python expression."""

from __future__ import annotations

import re
from collections.abc import Callable

from hiremate_gen.ir import Arg, Device, Graph, Literal, Op, Ref

Show = Callable[[str], str]  # value -> expression

_OPERATORS = {"aten.add.Tensor": "+", "aten.sub.Tensor": "-", "aten.mul.Tensor": "*", "aten.div.Tensor": "/"}
_OPERATORS |= {t.replace("Tensor", "Scalar"): sign for t, sign in _OPERATORS.items()}
# The same op under the name that people know it by.
_KNOWN = {
    "aten.mm.default": "torch.mm",
    "aten.bmm.default": "torch.bmm",
    "aten.addmm.default": "torch.addmm",
    "aten.relu.default": "torch.relu",
    "aten.tanh.default": "torch.tanh",
    "aten.exp.default": "torch.exp",
    "aten.sigmoid.default": "torch.sigmoid",
    "aten.rsqrt.default": "torch.rsqrt",
    "aten.cos.default": "torch.cos",
    "aten.sin.default": "torch.sin",
    "aten.cat.default": "torch.cat",
    "aten.silu.default": "F.silu",
}
_METHODS = {
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
}
_IN_PLACE = {
    "aten.relu.default": "relu_",
    "aten.tanh.default": "tanh_",
    "aten.exp.default": "exp_",
    "aten.sigmoid.default": "sigmoid_",
    "aten.neg.default": "neg_",
    "aten.masked_fill.Scalar": "masked_fill_",
}


def call(graph: Graph, op: Op, show: Show, device: str, *, again: bool, overwrites: str | None) -> str:
    """The expression that runs `op`; `device` is the source text of the step's device."""
    args = op.again_args if again and op.again_args is not None else op.args
    if overwrites is not None:
        return _in_place(op, args, show, device, overwrites)
    texts = [argument(a, show, device) for a in args]
    kwargs = [f"{k}={argument(v, show, device)}" for k, v in op.kwargs]
    if op.target in _OPERATORS and not kwargs and len(args) == 2:
        return f"{_atom(texts[0])} {_OPERATORS[op.target]} {_atom(texts[1])}"
    if op.target in _METHODS and not kwargs:
        return f"{_atom(texts[0])}.{_METHODS[op.target]}({', '.join(texts[1:])})"
    return f"{function(op.target)}({', '.join([*texts, *kwargs])})"


def function(target: str) -> str:
    """Source text of the callable behind an overload."""
    if target in _KNOWN:
        return _KNOWN[target]
    namespace, name, overload = target.split(".", 2)
    owner = "aten" if namespace == "aten" else f"torch.ops.{namespace}"
    return f"{owner}.{name}" if overload == "default" else f"{owner}.{name}.{overload}"


def argument(arg: Arg, show: Show, device: str) -> str:
    """Source text of an argument."""
    if isinstance(arg, Ref):
        return show(arg.name)
    if isinstance(arg, Literal):
        return arg.text
    if isinstance(arg, Device):
        return device
    return f"[{', '.join(argument(a, show, device) for a in arg)}]"


def _in_place(op: Op, args: tuple[Arg, ...], show: Show, device: str, root: str) -> str:
    """The op with its result in the storage of `root`."""
    kept = show(root)
    if op.target in _IN_PLACE:
        rest = ", ".join(argument(a, show, device) for a in args[1:])
        return f"{kept}.{_IN_PLACE[op.target]}({rest})"
    if op.target in _OPERATORS:
        name = op.target.split(".")[1]
        other = args[1] if isinstance(args[0], Ref) and args[0].name == root else args[0]
        extra = "".join(f", {k}={argument(v, show, device)}" for k, v in op.kwargs)
        return f"{kept}.{name}_({argument(other, show, device)}{extra})"
    texts = [argument(a, show, device) for a in args]
    texts += [f"{k}={argument(v, show, device)}" for k, v in op.kwargs]
    return f"{_out_variant(op.target)}({', '.join(texts)}, {_out_name(op.target)}={kept})"


def _out_name(target: str) -> str:
    return "grad_input" if target.split(".")[1].endswith("_backward") else "out"


def _out_variant(target: str) -> str:
    name = target.split(".")[1]
    return f"aten.{name}.{_out_name(target)}"


def _atom(text: str) -> str:
    """`text` in parentheses unless it binds tighter than any operator."""
    return text if re.fullmatch(r"[\w.]+(\(.*\))?(\[[^\]]*\])?", text) and _balanced(text) else f"({text})"


def _balanced(text: str) -> bool:
    """Whether the first parenthesis closes at the very end (or before an index)."""
    depth = 0
    for at, char in enumerate(text):
        depth += char in "(["
        depth -= char in ")]"
        if depth == 0 and char == ")" and at < len(text) - 1 and text[at + 1] not in "[.":
            return False
    return depth == 0
