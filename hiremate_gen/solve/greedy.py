"""Drop values at the peak until the budget holds (FORMULATION.md, "Heuristic")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hiremate_gen.solve.net import Codes, Net, Profile, profile

Noise = Callable[[int], float]  # root -> factor on the score of dropping it, 1.0 without noise


@dataclass(frozen=True, slots=True)
class Drop:
    """Roots not held across a moment: the codes that make them again, seconds, and bytes freed at that moment."""

    codes: tuple[int, ...]
    time_s: float
    bytes: int
    extends: bool = False  # an input that could be made again is kept longer instead


@dataclass(frozen=True, slots=True)
class _Moment:
    """Where the peak is, and for each root live across it the step that reads it next."""

    step: int
    across: dict[int, int]  # root -> next reader's step
    live: frozenset[int]  # all roots live at the step, its own ones included
    spans: dict[int, list[tuple[int, int]]]  # root -> (made, last read) of each copy, by step

    def there(self, root: int, reader: int) -> bool:
        """Whether a copy not made by the step itself lives until `reader` or later."""
        a, b = self.spans[root][-1]
        return b >= reader and a != self.step


def shrink(
    net: Net,
    codes: Codes,
    budget: int,
    noise: Noise | None = None,
    tabu: frozenset[int] = frozenset(),
    rounds: int | None = None,
) -> Codes | None:
    """Add recomputation until the peak is at most `budget` bytes; None when this greedy finds no way.

    Codes in `tabu` are not used; it gives up after `rounds` drops.
    """
    for _ in range(8 * net.n_ops if rounds is None else rounds):
        run = profile(net, codes)
        if run.peak <= budget:
            return net.prune(codes)
        drop = best_drop(net, codes, run, budget, noise, tabu)
        if drop is None:
            return None
        more = net.prune((*codes, *drop.codes))
        if more == codes:  # nothing would read it: try another one
            tabu |= frozenset(drop.codes)
        codes = more
    return None


def best_drop(
    net: Net, codes: Codes, run: Profile, budget: int, noise: Noise | None, tabu: frozenset[int]
) -> Drop | None:
    """The drop with the fewest seconds for each byte at the first moment of the peak."""
    moment = look(net, run)
    stages = _stages(net, run)
    have, excess = frozenset(codes), run.peak - budget
    best: tuple[float, int] | None = None
    found = None
    for root in sorted(moment.across):
        drop: Drop | None = None
        for extend in (True, False):
            if not extend and drop is not None and not drop.extends:
                break  # there is no second way
            drop = drop_of(net, moment, stages, root, extend)
            if drop is None or have.issuperset(drop.codes) or not tabu.isdisjoint(drop.codes):
                continue
            score = (drop.time_s + 1e-12) / min(drop.bytes, excess) * (noise(root) if noise else 1.0)
            if best is None or (score, root) < best:
                best, found = (score, root), drop
    return found


def _stages(net: Net, run: Profile) -> list[int]:
    """For each step the backward op that it runs for; -1 in forward."""
    stages, now = [-1] * len(run.steps), -1
    for s in range(len(run.steps) - 1, net.n_forward - 1, -1):
        if run.steps[s] >= net.n_forward:
            now = run.steps[s]
        stages[s] = now
    return stages


def look(net: Net, run: Profile) -> _Moment:
    """Lifetimes around the first moment of the peak."""
    at, steps, reads, writes = run.peaks.index(run.peak), run.steps, net.reads, net.writes
    spans: dict[int, list[tuple[int, int]]] = {}
    opened: dict[int, int] = {}
    live: frozenset[int] = frozenset()
    for s, (op, dies) in enumerate(zip(steps, run.dies, strict=True)):
        for r in writes[op]:
            if r not in opened:
                opened[r] = s
        if s == at:
            live = frozenset(opened)
        for r in dies:
            spans.setdefault(r, []).append((opened.pop(r), s))
    end = len(steps)
    for r, s in opened.items():
        spans.setdefault(r, []).append((s, end))
    waiting = set(live).difference(reads[steps[at]], writes[steps[at]], net.held)
    across: dict[int, int] = {}
    for s in range(at + 1, end):
        if not waiting:
            break
        for r in reads[steps[s]]:
            if r in waiting:
                across[r] = s
                waiting.discard(r)
    return _Moment(at, across, live, spans)


def drop_of(net: Net, moment: _Moment, stages: list[int], root: int, extend: bool) -> Drop | None:
    """How to make `root` again after the peak.  An input that is gone by then is kept longer when `extend` and it is
    live at the peak, and made again otherwise."""
    reader = moment.across[root]
    made = net.producer[root]
    stage = net.stage_for(stages[reader], made) if stages[reader] >= 0 and made >= 0 else -1
    if stage < 0:
        return None
    wanted, codes, freed, extends = [(made, stage)], {}, net.size[root], False
    while wanted:
        op, at = wanted.pop()
        if op in codes:
            continue
        codes[op] = at
        if len(codes) > 64:
            return None
        for r in net.reads[op]:
            if moment.there(r, reader):
                continue
            again = net.stage_for(at, net.producer[r]) if net.producer[r] >= 0 else -1
            if again < 0 or (extend and r in moment.live):
                freed -= 0 if r in moment.live else net.size[r]
                extends |= again >= 0
            else:
                wanted.append((net.producer[r], again))
    if freed <= 0:
        return None
    done = tuple(sorted(net.code(at, op) for op, at in codes.items()))
    return Drop(done, sum(net.time_s[op] for op in sorted(codes)), freed, extends)
