"""Which view of a storage its name stands for: the one that everything reads, so that no line only reshapes."""

from __future__ import annotations

from dataclasses import dataclass, field

from hiremate_gen.emit.products import RESHAPES, reads
from hiremate_gen.ir import Block, Graph


@dataclass
class Seen:
    """How everything reads the storages of a graph: root -> first views on the way, root -> ops that read it."""

    graph: Graph
    tops: dict[str, dict[str, None]] = field(default_factory=dict)
    readers: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for op in self.graph.computes:
            for name in (*reads(self.graph, op), *(v for v, _ in op.writes_buffer)):
                self._see(name)
                self.readers.setdefault(self.graph.index[name].root, set()).add(op.name)
        for _, gradient in self.graph.gradients:
            self._see(gradient)
        for output in self.graph.outputs:
            if output.value is not None:
                self._see(output.value)

    def _see(self, name: str) -> None:
        self.tops.setdefault(self.graph.index[name].root, {})[_top(self.graph, name)] = None


def faces(graph: Graph, block: Block, seen: Seen) -> dict[str, str]:
    """Value -> the root whose name stands for it, for roots of `block` that are only ever read through one reshape.

    Roots that other blocks read keep their own shape, as do results of calls that return several.
    """
    mine = {*block.forward, *block.backward}
    ends = {block.input, block.output, block.grad_output, block.grad_input}
    found: dict[str, str] = {}
    for op in (graph.op[name] for name in (*block.forward, *block.backward)):
        if op.tupled or f"{op.name}_mask" in mine:
            continue
        for root in graph.writes[op.name]:
            inside = root not in ends and seen.readers.get(root, mine) <= mine
            if inside and _one(graph, seen.tops.get(root)):
                found.update(dict.fromkeys(seen.tops[root], root))
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
