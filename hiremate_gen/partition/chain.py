"""The chain: forward stretches between separators, and the backward ops that belong to each."""

from __future__ import annotations

from collections.abc import Sequence

from hiremate_gen.ir import Block, Chain, Graph, Op
from hiremate_gen.partition.separators import Cut, separators, stretches
from hiremate_gen.partition.twins import fingerprint


def partition(graph: Graph) -> Chain:
    """Cut `graph` into a chain of blocks; a graph without separators becomes one block."""
    forward = tuple(o for o in graph.computes if not o.backward)
    cuts = separators(graph, forward)
    spans = stretches(forward, cuts, 0, len(forward))
    backward = _owners(graph, forward, spans)
    at = {c.at: c for c in cuts}
    blocks: list[Block] = []
    first: dict[object, int] = {}
    names = _names(forward, spans)
    for number, (start, end) in enumerate(spans):
        ops = tuple(o.name for o in forward[start:end])
        mine = tuple(o.name for o in graph.computes if o.backward and backward[o.name] == number)
        print_of = fingerprint(graph, ops + mine)
        blocks.append(
            Block(
                name=names[number],
                kind=_kind(forward[start:end]),
                forward=ops,
                backward=mine,
                input=at[start].root if start in at else None,
                output=at[end].root if end in at else None,
                grad_output=_handed(graph, backward, number + 1, at.get(end)),
                grad_input=_handed(graph, backward, number, at.get(start)),
                twin=first.setdefault(print_of, number),
            )
        )
    return Chain(tuple(blocks))


def _owners(graph: Graph, forward: tuple[Op, ...], spans: Sequence[tuple[int, int]]) -> dict[str, int]:
    """Backward op -> block.  It belongs with the forward op that it differentiates, or further back if it reads a
    gradient that an earlier block's backward makes."""
    block = {op.name: n for n, (start, end) in enumerate(spans) for op in forward[start:end]}
    owner: dict[str, int] = {}
    for op in graph.computes:
        if not op.backward:
            continue
        bounds = [block[op.derives]] if op.derives in block else []
        for root in graph.reads[op.name]:
            producer = graph.producer.get(root)
            if producer in owner:
                bounds.append(owner[producer])
        owner[op.name] = min(bounds, default=len(spans) - 1)
    return owner


def _handed(graph: Graph, owner: dict[str, int], number: int, cut: Cut | None) -> str | None:
    """The gradient that block `number` hands back across `cut`: the root with the separator's shape."""
    if cut is None:
        return None
    shape = graph.index[cut.root].shape
    found = [
        root
        for op in graph.computes
        if op.backward and owner[op.name] < number
        for root in graph.reads[op.name]
        if graph.producer.get(root) in owner and owner[graph.producer[root]] >= number
    ]
    return next((r for r in found if graph.index[r].shape == shape), found[0] if found else None)


def _common(ops: Sequence[Op]) -> tuple[str, ...]:
    paths = [op.origin.module.split(".") if op.origin.module else [] for op in ops]
    shared = paths[0]
    for path in paths[1:]:
        shared = shared[
            : next(
                (i for i, (a, b) in enumerate(zip(shared, path, strict=False)) if a != b), min(len(shared), len(path))
            )
        ]
    return tuple(shared)


def _names(forward: tuple[Op, ...], spans: Sequence[tuple[int, int]]) -> list[str]:
    """Module paths; where several blocks share one, the modules inside tell them apart."""
    shared = [".".join(_common(forward[a:b])) for a, b in spans]
    names = []
    for (a, b), name in zip(spans, shared, strict=True):
        if name == "" or shared.count(name) > 1:
            inner = dict.fromkeys(
                ".".join(op.origin.module.split(".")[: name.count(".") + 2]) if name else op.origin.module.split(".")[0]
                for op in forward[a:b]
                if op.origin.module != name
            )
            ends = list(inner)
            name = (
                f"{ends[0]}..{ends[-1].rsplit('.', 1)[-1]}" if len(ends) > 1 else ends[0] if ends else name or "model"
            )
        while name in names:
            name += "_"
        names.append(name)
    return names


def _kind(ops: Sequence[Op]) -> str:
    """The class of the module that holds all of `ops`, if one op says it."""
    path = ".".join(_common(ops))
    return next((op.origin.module_class for op in ops if op.origin.module == path and path), "")
