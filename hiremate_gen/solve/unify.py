"""Blocks that do the same work do it in few ways: each way becomes functions that somebody reads (FORMULATION.md,
"Few variants")."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations

from hiremate_gen.solve.net import Codes, Net
from hiremate_gen.solve.timeline import Timeline, timeline

ALLOWED = 0.001  # of the step's time, to get from more variants down to FEW; from there on nothing
VARIANTS = 5  # the most used ones, among which to choose
FEW = 3  # variants that a reader can hold against each other
MISSES = 3  # blocks in a row that cannot be faster: then those behind them are not asked

# What runs again of one block: (0, position of the backward op, position of the forward op) in its own backward, and
# (k, -1, position of the forward op) in the k-th of its recompute segments, however far away that is.
Pattern = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Way:
    """How one block runs: its pattern, and the backward ops before which its recompute segments run."""

    pattern: Pattern
    away: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Twins:
    """Blocks that do the same work, with their ops; op k of one corresponds to op k of the others."""

    net: Net
    ops: dict[int, tuple[int, ...]]  # block -> ops
    place: dict[int, int]  # op -> its position in the block

    def ways(self, line: Timeline) -> dict[int, Way]:
        """What runs again of each block."""
        found: dict[int, list[tuple[int, int]]] = {b: [] for b in self.ops}
        for code in line.codes:
            stage, op = divmod(code, self.net.n_forward)
            if self.net.block[op] in found:
                found[self.net.block[op]].append((stage, op))
        return {b: self._way(b, items) for b, items in found.items()}

    def _way(self, block: int, items: list[tuple[int, int]]) -> Way:
        away = sorted({stage for stage, _ in items if self.net.block[stage] != block})
        rank = {stage: k + 1 for k, stage in enumerate(away)}
        pattern = sorted(
            (rank[stage], -1, self.place[op]) if stage in rank else (0, self.place[stage], self.place[op])
            for stage, op in items
        )
        return Way(tuple(pattern), tuple(away))

    def switch(self, line: Timeline, block: int, old: Way, new: Pattern) -> bool:
        """Let a block run as `new`; False, and nothing done, where it has no such recompute segment."""
        if any(k > len(old.away) for k, _, _ in new):
            return False
        before, after = set(old.pattern), set(new)
        for item in old.pattern:
            if item not in after:
                line.remove(self._code(block, item, old.away))
        for item in new:
            if item not in before:
                line.insert(self._code(block, item, old.away))
        return True

    def _code(self, block: int, item: tuple[int, int, int], away: tuple[int, ...]) -> int:
        rank, stage, op = item
        ops = self.ops[block]
        return self.net.code(away[rank - 1] if rank else ops[stage], ops[op])

    def time(self, pattern: Pattern) -> float:
        ops = next(iter(self.ops.values()))
        return sum(self.net.time_s[ops[op]] for _, _, op in pattern)


def twins(net: Net) -> list[Twins]:
    """The kinds of blocks of which there are several."""
    ops: dict[int, list[int]] = {}
    for o, block in enumerate(net.block):
        ops.setdefault(block, []).append(o)
    groups: dict[int, dict[int, tuple[int, ...]]] = {}
    for block, kind in enumerate(net.twin):
        if block in ops:
            groups.setdefault(kind, {})[block] = tuple(ops[block])
    place = {o: k for mine in ops.values() for k, o in enumerate(mine)}
    return [Twins(net, blocks, place) for blocks in groups.values() if len(blocks) > 1]


def unify(net: Net, codes: Codes, budget: int, limit_s: float) -> Codes:
    """A schedule within `budget` bytes and `limit_s` seconds of recomputation whose twins run in fewer ways, where
    there is one close to `codes`, which must fit.  It is slower only where more than VARIANTS twins ran in more than
    FEW ways."""
    line = timeline(net, codes)
    for kind in twins(net):
        paid = len(kind.ops) > VARIANTS and len(_variants(kind, line)) > FEW
        line = _fewer(kind, line, budget, limit_s if paid else min(limit_s, net.time(line.codes)))
    return net.prune(line.codes)


def _fewer(kind: Twins, line: Timeline, budget: int, limit_s: float) -> Timeline:
    """Leave out rare variants one by one, then choose among those that are left."""
    common, rest = _variants(kind, line), True
    while len(common) > VARIANTS and rest:
        tried = (_with(kind, line, tuple(p for p in common if p != rare), budget) for rare in reversed(common))
        found = next((t for t in tried if t is not None and t.net.time(t.codes) <= limit_s), None)
        rest, line = found is not None, found or line
        common = _variants(kind, line)
    for size in range(1, FEW + 1):
        if size < len(common):
            tries = [_with(kind, line, some, budget) for some in combinations(common[:VARIANTS], size)]
            fits = [t for t in tries if t is not None and t.net.time(t.codes) <= limit_s]
            if fits:
                return min(fits, key=lambda t: (t.net.time(t.codes), t.peak, t.done()))
    return line


def _variants(kind: Twins, line: Timeline) -> list[Pattern]:
    """The most used first."""
    used = Counter(way.pattern for way in kind.ways(line).values())
    return sorted(used, key=lambda p: (-used[p], p))


def _with(kind: Twins, line: Timeline, some: tuple[Pattern, ...], budget: int) -> Timeline | None:
    """The schedule with no other variants than `some`: where it is not one of them the fastest that fits, else the
    slowest; where memory is short the slowest; then faster ones as long as they fit."""
    fast_first = sorted(some, key=lambda p: (kind.time(p), p))
    slow, line, now = fast_first[-1], line.copy(), kind.ways(line)
    for block, way in now.items():
        if way.pattern not in some and not _first_fit(kind, line, now, block, fast_first, budget):
            if not kind.switch(line, block, way, slow):
                return None
            now[block] = Way(slow, way.away)
    for block, way in now.items():
        if line.peak > budget and kind.switch(line, block, way, slow):
            now[block] = Way(slow, way.away)
    if line.peak > budget:
        return None
    missed = 0
    for block, way in now.items() if len(some) <= FEW else ():
        faster = fast_first[: fast_first.index(way.pattern)]
        if faster and missed < MISSES:
            missed = 0 if _first_fit(kind, line, now, block, faster, budget) else missed + 1
    return line


def _first_fit(
    kind: Twins, line: Timeline, now: dict[int, Way], block: int, patterns: list[Pattern], budget: int
) -> bool:
    """Let a block run as the first of `patterns` that fits the budget; whether there is one."""
    way = now[block]
    for pattern in patterns:
        if kind.switch(line, block, way, pattern):
            now[block] = Way(pattern, way.away)
            if line.peak <= budget:
                return True
            kind.switch(line, block, now[block], way.pattern)
            now[block] = way
    return False
