"""Forward functions of blocks that do the same work made the same, where their plans only differ in what they keep.

A function that frees a root for one plan and hands it on for another is two functions.  Instead it hands on what any
plan keeps, and whoever calls it for a plan that does not keep a root drops that root right after.  Until then the
root lives a little longer than the plan asks for: this is done only where memory stays below the peak of the step.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from hiremate_gen.ir import Block, Call, Chain, Graph, Schedule, Step

Key = Hashable  # a root by the part that it plays in its block


def aligned(graph: Graph, chain: Chain, schedule: Schedule) -> Schedule:
    """`schedule` with the forward calls of each kind of blocks in one form."""
    forward = {c.block: k for k, c in enumerate(schedule.calls) if c.phase == "forward"}
    before = _before(graph, schedule)
    calls = list(schedule.calls)
    for twin in sorted({b.twin for b in chain.blocks}):
        played = [_Played(graph, chain.blocks[n], calls[k]) for n, k in forward.items() if chain.blocks[n].twin == twin]
        same = [p for p in played if p.ops == played[0].ops] if played else []
        for one in same:
            call = one.without(_never(same))
            if peak_of(graph, call, before[call.block])[0] < schedule.peak_bytes:
                calls[forward[call.block]] = call
    return replace(schedule, calls=tuple(calls))


@dataclass
class _Played:
    """A forward call: its roots by their part in the block."""

    graph: Graph
    block: Block
    call: Call

    def __post_init__(self) -> None:
        place = {op: k for k, op in enumerate(self.block.forward)}
        self.ops = tuple(place[step.op] for step in self.call.steps)
        self.key: dict[str, Key] = {}
        for step in self.call.steps:
            roots = (*self.graph.reads[step.op], *self.graph.writes[step.op])
            for n, root in enumerate(roots):
                self.key.setdefault(root, (place[step.op], n))

    @property
    def freed(self) -> set[Key]:
        return {self.key[r] for step in self.call.steps for r in step.frees}

    def without(self, spared: set[Key]) -> Call:
        """The call with those roots not freed: results that the caller drops, or not taken from it."""
        steps = []
        drops: dict[str, None] = {}
        for step in self.call.steps:
            frees = tuple(r for r in step.frees if self.key[r] not in spared)
            drops |= {r: None for r in step.frees if r not in frees}
            overwrites = next((r for r in self.graph.op[step.op].inplace if r in frees), None)
            steps.append(Step(step.op, step.again, frees, overwrites if step.overwrites else None))
        made = [r for step in steps for r in self.graph.writes[step.op]]
        results = tuple(r for r in made if r in drops or r in self.call.results)
        takes = tuple(r for r in self.call.takes if r not in drops)
        borrows = tuple(r for r in self.key if r in self.call.borrows or (r in drops and r not in results))
        return replace(self.call, steps=tuple(steps), takes=takes, borrows=borrows, results=results, drops=tuple(drops))


def _never(played: list[_Played]) -> set[Key]:
    """What not all of them free."""
    freed = [p.freed for p in played]
    return set[Key]().union(*freed) - freed[0].intersection(*freed)


def _before(graph: Graph, schedule: Schedule) -> dict[int, int]:
    """Bytes that live when the forward of each block starts."""
    now, found = graph.static_bytes, {}
    for call in (c for c in schedule.calls if c.phase == "forward"):
        found[call.block] = now
        for step in call.steps:
            now += grown(graph, step)
    return found


def peak_of(graph: Graph, call: Call, now: int) -> tuple[int, str]:
    """Bytes at the peak of a call before which `now` live, and the op that reaches it first."""
    peak = now, ""
    for step in call.steps:
        made = sum(graph.bytes(r) for r in graph.writes[step.op])
        taken = graph.bytes(step.overwrites) if step.overwrites is not None else 0
        here = now + made - taken + graph.op[step.op].workspace_bytes
        peak = (here, step.op) if here > peak[0] else peak
        now += grown(graph, step)
    return peak


def grown(graph: Graph, step: Step) -> int:
    """Bytes that a step leaves behind, less those that it frees."""
    return sum(graph.bytes(r) for r in graph.writes[step.op]) - sum(graph.bytes(r) for r in step.frees)
