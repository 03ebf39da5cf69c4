"""One op as one Python expression."""

from __future__ import annotations

import re
from collections.abc import Callable

from hiremate_gen.emit.helpers import by_helper, relu_in_place
from hiremate_gen.emit.spelling import IN_PLACE, KNOWN, METHODS, OPERATORS, SPELLINGS, scale, stretch
from hiremate_gen.ir import Arg, Device, Graph, Literal, Op, Ref

Show = Callable[[str], str]  # value -> expression


def call(
    graph: Graph, op: Op, show: Show, device: str, *, again: bool, overwrites: str | None, first: bool = False
) -> str:
    """The expression that runs `op`; `device` is the source text of the step's device.

    With `first` it gives the first of several results alone, where there is a name for that; `single` tells.
    """
    args = op.again_args if again and op.again_args is not None else op.args
    if overwrites is not None:
        return _in_place(op, args, show, device, overwrites)
    texts = [argument(a, show, device) for a in args]
    kwargs = {k: argument(v, show, device) for k, v in op.kwargs}
    special = SPELLINGS.get(op.target)
    if special is not None and first is op.tupled:
        spelled = special(texts, kwargs)
        if spelled is not None:
            return spelled
    if op.target == "aten.slice.Tensor" and (index := stretch(texts[1:])) is not None:
        return f"{atom(texts[0])}[{index}]"
    helped = by_helper(graph, op, texts)
    if helped is not None:
        return helped
    named = [f"{k}={v}" for k, v in kwargs.items()]
    if op.target in OPERATORS and not kwargs and len(args) == 2:
        return f"{atom(texts[0])} {OPERATORS[op.target]} {atom(texts[1])}"
    if op.target in METHODS:
        rest = _spread(texts[1:]) if METHODS[op.target] in ("view", "permute", "expand") else texts[1:]
        spread = [*rest, *named]
        return f"{atom(texts[0])}.{METHODS[op.target]}({', '.join(spread)})"
    return f"{function(op.target)}({', '.join([*texts, *named])})"


def single(graph: Graph, op: Op) -> bool:
    """Whether the op has a name of its own for its first result alone."""
    on_cpu = graph.device.partition(":")[0] == "cpu"
    return op.tupled and op.target in SPELLINGS and (on_cpu or "batch_norm" not in op.target)


def function(target: str) -> str:
    """Source text of the callable behind an overload."""
    if target in KNOWN:
        return KNOWN[target]
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


def _spread(texts: list[str]) -> list[str]:
    """`[16, 128]` as the only argument goes without its brackets."""
    if len(texts) == 1 and re.fullmatch(r"\[[-\d, ]+\]", texts[0]):
        return [texts[0][1:-1]]
    return texts


def _in_place(op: Op, args: tuple[Arg, ...], show: Show, device: str, root: str) -> str:
    """The op with its result in the storage of `root`."""
    kept = show(root)
    if op.target in IN_PLACE:
        rest = ", ".join(argument(a, show, device) for a in args[1:])
        return f"{kept}.{IN_PLACE[op.target]}({rest})"
    if op.target in OPERATORS:
        name = op.target.split(".")[1]
        other = args[1] if isinstance(args[0], Ref) and args[0].name == root else args[0]
        extra = "".join(f", {k}={argument(v, show, device)}" for k, v in op.kwargs)
        return f"{kept}.{name}_({argument(other, show, device)}{extra})"
    if relu_in_place(op, args, root):
        return f"relu_backward_({kept}, {argument(args[1], show, device)})"
    texts = [argument(a, show, device) for a in args]
    texts[2:] = map(scale, texts[2:]) if op.target == "aten.native_dropout_backward.default" else texts[2:]
    texts += [f"{k}={argument(v, show, device)}" for k, v in op.kwargs]
    out = "grad_input" if op.target.split(".")[1].endswith("_backward") else "out"
    return f"aten.{op.target.split('.')[1]}.{out}({', '.join(texts)}, {out}={kept})"


def atom(text: str) -> str:
    """`text` in parentheses unless it binds tighter than any operator."""
    depth, quoted = 0, False
    for at, char in enumerate(text):
        quoted ^= char == '"'
        if quoted:
            continue
        depth += char in "([{"
        depth -= char in ")]}"
        if depth == 0 and not (char.isalnum() or char in '_.")]}'):
            return f"({text})"
        if depth == 0 and at == 0 and char == "-":
            return f"({text})"
    return text
