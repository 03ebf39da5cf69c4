"""Where the forward program can be cut, and where it is worth cutting."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from hiremate_gen.ir import Graph, Op

MAX_OPS = 48  # a longer stretch is cut further where it can be
MIN_OPS = 4  # a shorter one joins its neighbour


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut before forward op `at`; `depth` is how many module names both sides share; `root` crosses it."""

    at: int
    depth: int
    root: str


def separators(graph: Graph, forward: tuple[Op, ...]) -> tuple[Cut, ...]:
    """Every place between two forward ops where exactly one root that needs a gradient crosses."""
    trained = {name for name, _ in graph.gradients}
    last_reader = {r: i for i, op in enumerate(forward) for r in graph.reads[op.name]}
    needs = _needing_gradient(graph, forward, trained)
    cuts = []
    crossing: set[str] = set()
    for at, op in enumerate(forward[:-1]):
        crossing |= {r for r in graph.writes[op.name] if r in needs and last_reader.get(r, -1) > at}
        crossing = {r for r in crossing if last_reader[r] > at}
        if len(crossing) == 1:
            depth = _shared(_path(op), _path(forward[at + 1]))
            cuts.append(Cut(at + 1, depth, next(iter(crossing))))
    return tuple(cuts)


def _needing_gradient(graph: Graph, forward: tuple[Op, ...], trained: set[str]) -> set[str]:
    """Floating-point roots that a value with a gradient flows into."""
    base = {n: _static_roots(graph, op) for op in forward for n in (op.name,)}
    needs: set[str] = set()
    for op in forward:
        if base[op.name] & trained or any(r in needs for r in graph.reads[op.name]):
            needs.update(
                r for r in graph.writes[op.name] if graph.index[r].dtype.startswith(("float", "bfloat", "complex"))
            )
    return needs


def _static_roots(graph: Graph, op: Op) -> set[str]:
    return {graph.index[n].root for n in op.inputs if graph.index[graph.index[n].root].static}


def _path(op: Op) -> tuple[str, ...]:
    return tuple(op.origin.module.split(".")) if op.origin.module else ()


def _shared(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def stretches(forward: tuple[Op, ...], cuts: tuple[Cut, ...]) -> list[tuple[int, int]]:
    """Spans of `forward`, cut at module boundaries from the outermost inwards.

    A span is cut while it is too long, or while alike parts come out: repeated modules become blocks of their own,
    which are solved once and share their functions.  Short spans that stand beside each other join.
    """
    spans = _cut(forward, cuts, 0, len(forward))[0]
    shapes = [_shape(forward, span) for span in spans]
    joined: list[tuple[int, int]] = []
    open_ = False
    for span, shape in zip(spans, shapes, strict=True):
        alone = shapes.count(shape) == 1 or span[1] - span[0] < MIN_OPS
        if alone and open_ and span[1] - joined[-1][0] <= 3 * MIN_OPS:
            joined[-1] = (joined[-1][0], span[1])
        else:
            joined.append(span)
        open_ = alone
    return joined


def _cut(forward: tuple[Op, ...], cuts: tuple[Cut, ...], start: int, end: int) -> tuple[list[tuple[int, int]], bool]:
    """Spans of `forward[start:end]`, and whether some of them are alike."""
    inside = [c for c in cuts if start < c.at < end]
    if not inside:
        return [(start, end)], False
    depth = min(c.depth for c in inside)
    edges = [start, *(c.at for c in inside if c.depth == depth), end]
    parts = list(itertools.pairwise(edges))
    shapes = [_shape(forward, part) for part in parts]
    alike = {s for s in shapes if len(s) >= MIN_OPS and shapes.count(s) > 1}
    spans: list[tuple[int, int]] = []
    repeats = bool(alike)
    for part, shape in zip(parts, shapes, strict=True):
        if shape in alike and len(shape) <= MAX_OPS:
            spans.append(part)
            continue
        inner, inner_repeats = _cut(forward, cuts, *part)
        repeats |= inner_repeats
        spans.extend(inner)
    if not repeats and end - start <= MAX_OPS:
        return [(start, end)], False
    return spans, repeats


def _shape(forward: tuple[Op, ...], span: tuple[int, int]) -> tuple[str, ...]:
    return tuple(op.target for op in forward[span[0] : span[1]])
