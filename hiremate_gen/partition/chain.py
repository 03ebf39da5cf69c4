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
    spans = stretches(forward, cuts)
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


def _common(paths: Sequence[str]) -> str:
    """The module path that all `paths` lie in."""
    shared = paths[0].split(".")
    for path in paths[1:]:
        names = path.split(".")
        while names[: len(shared)] != shared:
            shared.pop()
    return ".".join(shared)


def _names(forward: tuple[Op, ...], spans: Sequence[tuple[int, int]]) -> list[str]:
    """A name for each span: the module that holds it, or holds all but its outermost ops, or the first and the last
    module inside; the first of these that no other span has."""
    choices = [_candidates([op.origin.module for op in forward[a:b]]) for a, b in spans]
    taken: list[str] = []
    for number, mine in enumerate(choices):
        others = [c for n, cs in enumerate(choices) if n != number for c in cs]
        name = next((c for c in mine if c not in others and c not in taken), "")
        taken.append(name or f"{mine[-1]}@{number}")
    return taken


def _candidates(paths: list[str]) -> list[str]:
    shared = _common(paths)
    deeper = [p for p in paths if p != shared]
    names = [shared] if shared else []
    if deeper:
        inner = _common(deeper)
        names += [inner] if inner else []
        names.append(f"{deeper[0]}..{deeper[-1]}" if deeper[0] != deeper[-1] else deeper[0])
    return names or ["model"]


def _kind(ops: Sequence[Op]) -> str:
    """The class of the module that holds all of `ops`, if one op says it."""
    path = _common([op.origin.module for op in ops])
    return next((op.origin.module_class for op in ops if op.origin.module == path and path), "")
