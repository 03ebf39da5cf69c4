"""Blocks that do the same work."""

from __future__ import annotations

from hiremate_gen.ir import Arg, Device, Graph, Literal, Ref


def fingerprint(graph: Graph, ops: tuple[str, ...]) -> object:
    """Equal for two lists of ops that are the same but for the names of their values."""
    numbers: dict[str, int] = {}
    gradients = {g: p for p, g in graph.gradients}

    def describe(name: str) -> object:
        value = graph.index[name]
        maker = makers.get(name)
        if maker is not None and maker.view:
            return (maker.target, *(canonical(a) for a in maker.args), *((k, canonical(v)) for k, v in maker.kwargs))
        fresh = value.name not in numbers
        number = numbers.setdefault(value.name, len(numbers))
        return (number, value.kind, value.shape, value.stride, value.dtype, value.bytes) if fresh else number

    def canonical(arg: Arg) -> object:
        if isinstance(arg, Ref):
            return describe(arg.name)
        if isinstance(arg, tuple):
            return tuple(canonical(a) for a in arg)
        return "device" if isinstance(arg, Device) else arg.text if isinstance(arg, Literal) else None

    makers = graph.maker
    lines: list[object] = []
    for name in ops:
        op = graph.op[name]
        ins = (op.target, *(canonical(a) for a in op.args), *((k, canonical(v)) for k, v in op.kwargs))
        outs = tuple(
            None if o is None else (describe(o), o in graph.held, gradients.get(o) is not None) for o in op.outputs
        )
        lines.append(
            (ins, outs, op.time_s, op.workspace_bytes, op.recomputable, tuple(b for _, b in op.writes_buffer) != ())
        )
    return tuple(lines)
