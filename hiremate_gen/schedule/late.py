"""Backward functions in which what runs again does so right before it is first read, wherever there is room for that.

Plans that run the same ops again differ in when they do; written in one order they are one function.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from hiremate_gen.ir import Block, Call, Chain, Graph, Schedule, Step
from hiremate_gen.schedule.align import grown, peak_of


def late(graph: Graph, chain: Chain, schedule: Schedule) -> Schedule:
    """`schedule` with the steps of its backward calls in that order; the peak stays where it is.

    Calls of blocks that do the same work in the same way stay alike: all of them are moved, or none.
    """
    now = graph.static_bytes
    left = _left(graph, schedule)
    brought = _brought(graph, schedule)
    moved: dict[int, Call] = {}
    ways: dict[Hashable, list[int]] = {}
    refused: set[Hashable] = set()
    for k, call in enumerate(schedule.calls):
        new = _moved(graph, call) if call.phase == "backward" else call
        if new != call:
            moved[k], way = new, _way(chain.blocks[call.block], call)
            ways.setdefault(way, []).append(k)
            bytes_, op = peak_of(graph, new, now + brought.get(k, 0))
            at_peak = k == schedule.peak_call and (bytes_, op) == (schedule.peak_bytes, schedule.peak_op)
            if not at_peak and (bytes_ >= schedule.peak_bytes or k == schedule.peak_call):
                refused.add(way)
        now += sum(grown(graph, step) for step in call.steps) - sum(map(graph.bytes, left.get(k, ())))
    taken = {k: moved[k] for way, ks in ways.items() if way not in refused for k in ks}
    return replace(schedule, calls=tuple(taken.get(k, call) for k, call in enumerate(schedule.calls)))


def _brought(graph: Graph, schedule: Schedule) -> dict[int, int]:
    """Call -> bytes of the gradients that autograd brings and holds meanwhile."""
    tangents = {v.name: v.bytes for v in graph.values if v.kind == "tangent"}
    spans: dict[str, list[int]] = {}
    for k, call in enumerate(schedule.calls):
        for root in {r for s in call.steps for r in graph.reads[s.op] if r in tangents}:
            spans.setdefault(root, []).append(k)
    found: dict[int, int] = {}
    for root, ks in spans.items():
        for k in range(ks[0], ks[-1] + 1):
            found[k] = found.get(k, 0) + tangents[root]
    return found


def _left(graph: Graph, schedule: Schedule) -> dict[int, list[str]]:
    """The last call of forward -> what the caller gets then and backward does not read."""
    forward = [k for k, call in enumerate(schedule.calls) if call.phase == "forward"]
    read = {r for call in schedule.calls[forward[-1] + 1 :] for s in call.steps for r in graph.reads[s.op]}
    return {forward[-1]: [r for r in graph.returned if r not in read]}


def _way(block: Block, call: Call) -> Hashable:
    """What a call does, the same for all blocks that do it."""
    place = {op: k for k, op in enumerate((*block.forward, *block.backward))}
    return block.twin, tuple((place.get(s.op, s.op), s.again, len(s.frees)) for s in call.steps)


def _moved(graph: Graph, call: Call) -> Call:
    names = [s.op for s in call.steps]
    overwritten = {s.overwrites for s in call.steps} - {None}
    if len(set(names)) < len(names) or not any(s.again for s in call.steps):
        return call
    order: list[Step] = []
    for step in reversed(call.steps):
        at = 0
        if step.again:
            made = set(graph.writes[step.op])
            uses = made | set(graph.reads[step.op])
            free = not overwritten & uses and step.overwrites is None
            at = next((n for n, s in enumerate(order) if made & set(graph.reads[s.op])), 0) if free else 0
        order.insert(at, step)
    return _freed(graph, call, order)


def _freed(graph: Graph, call: Call, order: list[Step]) -> Call:
    """`call` with its steps in another order: each root dies after the last of them that touches it."""
    dying = {r for s in call.steps for r in s.frees}
    last: dict[str, int] = {}
    for n, step in enumerate(order):
        last |= {r: n for r in (*graph.reads[step.op], *graph.writes[step.op]) if r in dying}
    before = {s.op: s.frees for s in call.steps}
    steps = []
    for n, step in enumerate(order):
        mine = [r for r in last if last[r] == n]
        frees = (*(r for r in before[step.op] if r in mine), *(r for r in mine if r not in before[step.op]))
        if step.overwrites is not None and step.overwrites not in frees:
            return call
        steps.append(replace(step, frees=frees))
    touched = {r: None for s in steps for r in (*graph.reads[s.op], *s.frees)}
    place = {r: n for n, r in enumerate(touched)}
    takes = tuple(sorted(call.takes, key=lambda r: place.get(r, -1)))
    borrows = tuple(sorted(call.borrows, key=lambda r: place.get(r, -1)))
    made = {r: None for s in steps for r in graph.writes[s.op]}
    results = tuple(r for r in made if r in call.results)
    return replace(call, steps=tuple(steps), takes=takes, borrows=borrows, results=results)
