"""Drop values at the peak until the budget holds (FORMULATION.md, "Heuristic")."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hiremate_gen.solve.net import Codes, Net
from hiremate_gen.solve.timeline import NEVER, Keys, Timeline, remember, timeline

Noise = Callable[[int], float]  # root -> factor on the score of dropping it, 1.0 without noise

MOST = 64  # ops that one drop may run again


@dataclass(frozen=True, slots=True)
class Drop:
    """A root that is not held across a moment: the codes that make it again, seconds, and bytes freed then."""

    root: int
    codes: tuple[int, ...]
    time_s: float
    bytes: int
    extends: bool = False  # an input that could be made again is kept longer instead


@dataclass(slots=True)
class _Known:
    """A drop that was worked out (None: there is none), and for which moments and timelines it holds."""

    drop: Drop | None
    low: int  # keys of the moments: low <= moment < high
    high: int
    seen: list[tuple[int, Keys]] = field(default_factory=list)  # roots that were looked at, and their touches then

    def holds(self, line: Timeline, moment: int) -> bool:
        return self.low <= moment < self.high and all(line.touches[r] is ts for r, ts in self.seen)

    def look(self, line: Timeline, root: int, moment: int, key: int) -> tuple[bool, bool]:
        """Whether `root` is there at `key`, and whether keeping it until then weighs nothing at the moment."""
        made, end = line.span(root, key)
        if made == NEVER:
            return True, True  # nothing makes it: it weighs nothing
        self.seen.append((root, line.touches[root]))
        for edge in (made, end + 1):
            if edge <= moment:
                self.low = max(self.low, edge)
            else:
                self.high = min(self.high, edge)
        return end >= key, end >= moment


class Drops:
    """Drops of a net's roots; what was worked out is used again as long as it holds."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.known: dict[tuple[int, bool], _Known] = {}

    def at(self, line: Timeline, moment: int) -> list[Drop]:
        """Ways to drop each root that is live across the step at key `moment`, which does not touch it."""
        found = []
        for root, reader in _across(line, moment):
            drop = self._drop(line, moment, root, reader, extend=True)
            if drop is not None:
                found.append(drop)
            if drop is None or drop.extends:
                other = self._drop(line, moment, root, reader, extend=False)
                if other is not None:
                    found.append(other)
        return found

    def _drop(self, line: Timeline, moment: int, root: int, reader: int, extend: bool) -> Drop | None:
        known = self.known.get((root, extend))
        if known is None or not known.holds(line, moment):
            known = self._work_out(line, moment, root, reader, extend)
            self.known[root, extend] = known
        return known.drop

    def _work_out(self, line: Timeline, moment: int, root: int, reader: int, extend: bool) -> _Known:
        """How to make `root` again for its next reader.  An input that is gone by then is kept longer when `extend` and
        it is live at the moment, and made again otherwise."""
        net, m = self.net, self.net.n_forward + 1
        touches = line.touches[root]
        before = touches[bisect_right(touches, moment) - 1]
        known = _Known(None, before + 1, reader, [(root, touches)])
        stage = net.stage_for(reader // m, net.producer[root]) if reader >= m else -1
        if stage < 0:
            return known
        wanted, codes, freed, extends = [(net.producer[root], stage)], {}, net.size[root], False
        while wanted:
            op, at = wanted.pop()
            if op in codes:
                continue
            codes[op] = at
            if len(codes) > MOST:
                return known
            for r in net.reads[op]:
                there, free = known.look(line, r, moment, at * m + op)
                if there:
                    continue
                again = net.stage_for(at, net.producer[r])
                if again < 0 or (extend and free):
                    freed -= 0 if free else net.size[r]
                    extends |= again >= 0
                else:
                    wanted.append((net.producer[r], again))
        if freed > 0:
            done = tuple(sorted(net.code(at, op) for op, at in codes.items()))
            known.drop = Drop(root, done, sum(net.time_s[op] for op in sorted(codes)), freed, extends)
        return known


def _across(line: Timeline, moment: int) -> list[tuple[int, int]]:
    """Roots with a copy that was made before the step at key `moment` and is read after it but not by it, with the key
    of the next reader."""
    roots = set(np.nonzero((line.first < moment) & (line.last > moment))[0].tolist())
    found = []
    for root in sorted(roots.union(line.several)):
        touches = line.touches[root]
        at = bisect_left(touches, moment)
        between = 0 < at < len(touches) and touches[at] != moment
        if between and (root in roots or line.span(root, moment)[1] > moment):
            found.append((root, touches[at]))
    return found


def drops(net: Net) -> Drops:
    """The drops of a net, shared by all that ask."""
    known = net.memo.setdefault("drops", Drops(net))
    assert isinstance(known, Drops)
    return known


def squeeze(
    line: Timeline,
    budget: int,
    noise: Noise | None = None,
    tabu: frozenset[int] = frozenset(),
    rounds: int | None = None,
) -> bool:
    """Add recomputation until the peak is at most `budget` bytes; whether this greedy found a way.

    Codes in `tabu` are not used; it gives up after `rounds` drops.
    """
    known, useless = drops(line.net), set(tabu)
    for _ in range(8 * line.net.n_ops if rounds is None else rounds):
        at = int(line.peaks.argmax()) if len(line.peaks) else 0
        excess = line.peak - budget
        if excess <= 0:
            return True
        ways = [d for d in known.at(line, line.keys[at]) if _usable(line, d, useless)]
        if not ways:
            return False
        for drop in _best(ways, excess, noise):
            line.add(drop.codes)
            if line.codes.isdisjoint(drop.codes):  # nothing reads it: try another one
                useless.update(drop.codes)
    return False


def _usable(line: Timeline, drop: Drop, useless: set[int]) -> bool:
    return useless.isdisjoint(drop.codes) and not line.codes.issuperset(drop.codes)


def _best(ways: list[Drop], excess: int, noise: Noise | None) -> list[Drop]:
    """The drop with the fewest seconds a byte, and as many others with the same score (those of blocks that do the
    same work) as the excess is sure to need."""

    def score(drop: Drop) -> float:
        return (drop.time_s + 1e-12) / min(drop.bytes, excess) * (noise(drop.root) if noise else 1.0)

    scores = [score(d) for d in ways]
    least = min(scores)
    chosen: list[Drop] = []
    for drop, value in zip(ways, scores, strict=True):
        if value == least and (not chosen or (drop.bytes <= excess and not drop.extends)):
            chosen.append(drop)
            excess -= drop.bytes
    return chosen


def shrink(
    net: Net,
    codes: Codes,
    budget: int,
    noise: Noise | None = None,
    tabu: frozenset[int] = frozenset(),
    rounds: int | None = None,
) -> Codes | None:
    """`squeeze` a schedule; None when this greedy finds no way."""
    line = timeline(net, codes)
    if not squeeze(line, budget, noise, tabu, rounds):
        return None
    remember(line)
    return line.done()
