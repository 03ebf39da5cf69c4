"""Backward functions in which what runs again does so right before it is first read, wherever there is room for that.

Plans that run the same ops again differ in when they do; written in one order they are one function.
"""

from __future__ import annotations

from dataclasses import replace

from hiremate_gen.emit.align import grown, peak_of
from hiremate_gen.ir import Call, Graph, Schedule, Step


def late(graph: Graph, schedule: Schedule) -> Schedule:
    """`schedule` with the steps of its backward calls in that order; the call of the peak stays as it is."""
    now = graph.static_bytes
    calls = []
    for k, call in enumerate(schedule.calls):
        moved = _moved(graph, call) if call.phase == "backward" and k != schedule.peak_call else call
        fits = moved is not call and peak_of(graph, moved, now) < schedule.peak_bytes
        calls.append(moved if fits else call)
        now += sum(grown(graph, step) for step in call.steps)
    return replace(schedule, calls=tuple(calls))


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


