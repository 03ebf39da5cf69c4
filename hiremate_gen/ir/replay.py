"""The meaning of a plan: exact lifetimes, memory at every moment, time.

A root lives from an op that makes it to the last op that reads it before it is made again (the latest copy serves
a reader).  Roots in `Graph.held` live to the end, those in `Graph.handed` to the end of the segment.  While an op
runs, its inputs, its outputs and its workspace are all live, except that an output may take over the storage of an
input that dies there (`Op.inplace`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hiremate_gen.ir.graph import Graph
from hiremate_gen.ir.plan import Plan


@dataclass(frozen=True, slots=True)
class Moment:
    """One op of the plan as it runs: memory in bytes, static values included."""

    segment: int
    op: str
    peak_bytes: int  # while it runs
    after_bytes: int  # when it has ended and what died is freed
    frees: tuple[str, ...]  # roots freed after it, inputs in order of reading, then outputs that nothing reads
    overwrites: str | None  # the root whose storage the first output takes over
    again: bool  # the op ran before


@dataclass(frozen=True, slots=True)
class Replay:
    """A whole plan as it runs."""

    moments: tuple[Moment, ...]
    peak_bytes: int
    time_s: float

    @property
    def peak(self) -> int:
        """Index of the first moment that reaches the peak."""
        return next(i for i, m in enumerate(self.moments) if m.peak_bytes == self.peak_bytes)


def replay(graph: Graph, plan: Plan) -> Replay:
    """Run `plan` on paper.

    Raises ValueError when an op reads a root that is not live: such a plan is not a schedule.
    """
    steps = [(s, name) for s, segment in enumerate(plan.segments) for name in segment.ops]
    dies = deaths(graph, [name for _, name in steps])
    tangents = {v.name: v.bytes for v in graph.values if v.kind == "tangent"}
    ends = {r: s for s, name in steps for r in graph.reads[name] if r in tangents}
    ends |= {r: s for s, name in steps for r in (*graph.writes[name], *graph.reads[name]) if r in graph.handed}
    live: set[str] = set()
    now, top, time_s = graph.static_bytes, graph.static_bytes, 0.0
    moments: list[Moment] = []
    seen: set[str] = set()
    for at, (segment, name) in enumerate(steps):
        op, reads, writes = graph.op[name], graph.reads[name], graph.writes[name]
        # Autograd holds a gradient that it brought until the function that it was brought to returns, and takes
        # what a function hands to it when that returns.
        for root in [r for r, end in ends.items() if end < segment and r in live]:
            live.remove(root)
            now -= graph.bytes(root)
        for root in reads:
            if root in tangents and root not in live:
                live.add(root)
                now += tangents[root]
            if root not in live:
                raise ValueError(f"step {at}: {name} reads {root}, which is not live")
        dying = tuple(r for r in reads if r in dies[at] and r not in tangents)
        overwrites = next((r for r in op.inplace if r in dying), None)
        made = sum(graph.bytes(r) for r in writes)
        if overwrites is not None:
            made -= graph.bytes(overwrites)
        unread = tuple(r for r in writes if r in dies[at])
        copies = sum(graph.bytes(r) for r in writes if r in live)  # a held root made again: the first copy stays
        peak = now + made + op.workspace_bytes
        now += made - copies - sum(graph.bytes(r) for r in (*dying, *unread) if r != overwrites)
        live.update(writes)
        live.difference_update(dying, unread)
        top = max(top, peak)
        time_s += op.time_s
        moments.append(Moment(segment, name, peak, now, (*dying, *unread), overwrites, name in seen))
        seen.add(name)
    return Replay(tuple(moments), top, time_s)


def deaths(graph: Graph, names: Sequence[str]) -> list[frozenset[str]]:
    """For each step, the roots that it reads or makes and that no later step reads before they are made again."""
    stay = graph.held | graph.handed
    needed = set(stay)  # walking backwards: roots with a reader further on
    dies = []
    for name in reversed(names):
        reads, writes = graph.reads[name], graph.writes[name]
        dead = {r for r in writes if r not in needed}
        needed.difference_update(r for r in writes if r not in stay)
        dead.update(r for r in reads if r not in needed)
        needed.update(reads)
        dies.append(frozenset(dead))
    return dies[::-1]
