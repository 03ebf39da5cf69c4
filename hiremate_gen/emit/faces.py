"""Which view of a storage its name stands for: the one that everything reads, so that no line only reshapes."""

from __future__ import annotations

from hiremate_gen.emit.products import RESHAPES, reads
from hiremate_gen.ir import Block, Graph


def faces(graph: Graph, block: Block) -> dict[str, str]:
    """Value -> the root whose name stands for it, for roots of `block` that are only ever read through one reshape.

    Roots that other blocks read keep their own shape, as do results of calls that return several.
    """
    mine = {*block.forward, *block.backward}
    tops: dict[str, dict[str, None]] = {}
    barred: set[str] = {r for r in (block.input, block.output, block.grad_output, block.grad_input) if r is not None}
    for op in graph.ops:
        if op.view:
            continue
        for name in (*reads(graph, op), *(v for v, _ in op.writes_buffer)):
            root = graph.index[name].root
            tops.setdefault(root, {})[_top(graph, name)] = None
            if op.name not in mine:
                barred.add(root)
    for name in (*(g for _, g in graph.gradients), *(o.value for o in graph.outputs if o.value is not None)):
        tops.setdefault(graph.index[name].root, {})[_top(graph, name)] = None
    found: dict[str, str] = {}
    for op in (graph.op[name] for name in (*block.forward, *block.backward)):
        for root in graph.writes[op.name]:
            if root not in barred and not op.tupled and f"{op.name}_mask" not in mine and _one(graph, tops.get(root)):
                found.update(dict.fromkeys(tops[root], root))
    return found


def _one(graph: Graph, views: dict[str, None] | None) -> bool:
    """Whether all of `views` are the same reshape of a whole storage."""
    if not views:
        return False
    shapes = {(graph.index[v].shape, graph.index[v].stride) for v in views}
    return len(shapes) == 1 and all(v in graph.maker and graph.maker[v].target in RESHAPES for v in views)


def _top(graph: Graph, value: str) -> str:
    """The first view on the way from a storage to `value`, or the value that owns it."""
    while graph.maker.get(value) is not None and graph.maker[value].view:
        below = graph.maker[value].inputs[0]
        if below not in graph.maker or not graph.maker[below].view:
            return value
        value = below
    return value
