"""A graph as planning sees it: ops and roots as integers, and the schedules over it.

A schedule is a sorted tuple of *codes*: code `p * n_forward + v` runs forward op v again right before backward op p.
Every set of codes is a schedule, because the first forward makes every value (FORMULATION.md, "Schedule space").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

Codes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Net:
    """Ops 0..n_forward-1 are forward ops in program order; the others are backward ops in theirs.

    A tangent is made by the first op that reads it and read by the last op of that block's backward, which is
    how long `ir.replay` keeps it.
    """

    n_forward: int
    reads: tuple[tuple[int, ...], ...]  # op -> roots
    writes: tuple[tuple[int, ...], ...]
    inplace: tuple[tuple[int, ...], ...]  # op -> read roots whose storage the first output may take over
    time_s: tuple[float, ...]
    work: tuple[int, ...]  # bytes
    recomputable: tuple[bool, ...]
    block: tuple[int, ...]
    gate: tuple[int, ...]  # backward op -> the op before which ops of other blocks may run again; -1 for forward
    size: tuple[int, ...]  # root -> bytes
    held: frozenset[int]  # roots that live to the end
    base: int  # bytes that are always there
    producer: tuple[int, ...]  # root -> op, -1 when no op makes it
    out: tuple[int, ...]  # op -> bytes of what it makes
    twin: tuple[int, ...] = ()  # block -> the first block that does the same work; empty for a block alone
    holds: tuple[tuple[int, ...], ...] = field(init=False, repr=False)  # op -> the held roots among those that it makes
    memo: dict[str, object] = field(init=False, repr=False, compare=False)  # what is found out once, by what it is

    def __post_init__(self) -> None:
        object.__setattr__(self, "memo", {})
        object.__setattr__(self, "holds", tuple(tuple(r for r in rs if r in self.held) for rs in self.writes))

    @property
    def n_ops(self) -> int:
        return len(self.reads)

    def code(self, stage: int, op: int) -> int:
        return stage * self.n_forward + op

    def stage_for(self, stage: int, op: int) -> int:
        """The latest stage not after `stage` at which forward op `op` may run again; -1 when there is none."""
        if not self.recomputable[op] or op >= self.n_forward:
            return -1
        return stage if self.block[op] == self.block[stage] else self.gate[stage]

    def order(self, codes: Codes) -> list[int]:
        """All ops as they run, recomputed ones included."""
        steps = list(range(self.n_forward))
        n, at = self.n_forward, 0
        for stage in range(n, self.n_ops):
            end = (stage + 1) * n
            while at < len(codes) and codes[at] < end:
                steps.append(codes[at] % n)
                at += 1
            steps.append(stage)
        return steps

    def time(self, codes: Iterable[int]) -> float:
        """Seconds of recomputation, summed by op so that equal sets give equal sums."""
        counts: dict[int, int] = {}
        for code in codes:
            counts[code % self.n_forward] = counts.get(code % self.n_forward, 0) + 1
        return sum(self.time_s[v] * counts[v] for v in sorted(counts))

    def prune(self, codes: Iterable[int]) -> Codes:
        """Without the codes whose results nothing reads before they are made again."""
        n, reads, writes, held = self.n_forward, self.reads, self.writes, self.held
        needed = bytearray(len(self.size))
        kept: list[int] = []
        ordered = sorted(set(codes), reverse=True)
        if not ordered:
            return ()
        at, count, first = 0, len(ordered), ordered[-1] // n
        for stage in range(self.n_ops - 1, first - 1, -1):
            for r in writes[stage]:
                needed[r] = 0
            for r in reads[stage]:
                needed[r] = 1
            low = stage * n
            while at < count and ordered[at] >= low:
                op = ordered[at] - low
                at += 1
                made = [r for r in writes[op] if needed[r] and r not in held]
                if made:
                    kept.append(low + op)
                    for r in made:
                        needed[r] = 0
                    for r in reads[op]:
                        needed[r] = 1
        kept.reverse()
        return tuple(kept)


@dataclass(frozen=True, slots=True)
class Profile:
    """A schedule as it runs: `peaks` while each step runs, `after` when it has ended (bytes, base included)."""

    steps: list[int]
    peaks: list[int]
    after: list[int]
    dies: list[tuple[int, ...]]  # roots freed after each step
    peak: int


def profile(net: Net, codes: Codes) -> Profile:
    """Exact memory at every step: the same lifetimes as `ir.replay`."""
    steps = net.order(codes)
    dies = _deaths(net, steps)
    now, peaks, after = net.base, [], []
    size, out, work, inplace, holds = net.size, net.out, net.work, net.inplace, net.holds
    seen: set[int] = set()
    for op, dead in zip(steps, dies, strict=True):
        peak = now + out[op] + work[op]
        if inplace[op]:
            for r in inplace[op]:
                if r in dead:
                    peak -= size[r]
                    break
        peaks.append(peak)
        now += out[op]
        for r in dead:
            now -= size[r]
        if holds[op]:
            for r in holds[op]:
                now -= size[r] if r in seen else 0
                seen.add(r)
        after.append(now)
    return Profile(steps, peaks, after, dies, max(peaks, default=net.base))


def _deaths(net: Net, steps: list[int]) -> list[tuple[int, ...]]:
    needed = bytearray(len(net.size))
    for r in net.held:
        needed[r] = 1
    held, reads, writes = net.held, net.reads, net.writes
    dies: list[tuple[int, ...]] = []
    for op in reversed(steps):
        dead = []
        for r in writes[op]:
            if not needed[r]:
                dead.append(r)
            elif r not in held:
                needed[r] = 0
        for r in reads[op]:
            if not needed[r]:
                needed[r] = 1
                dead.append(r)
        dies.append(tuple(dead))
    dies.reverse()
    return dies
