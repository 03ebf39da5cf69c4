"""The options of a block: schedules of the block alone that are worth choosing between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hiremate_gen.solve.blocks import Local
from hiremate_gen.solve.bound import lower_bound
from hiremate_gen.solve.cache import Cache
from hiremate_gen.solve.exact import Effort, Task, choose, optimise_all, tier
from hiremate_gen.solve.greedy import shrink
from hiremate_gen.solve.model import build
from hiremate_gen.solve.net import Codes, Net, Profile, profile
from hiremate_gen.solve.polish import polish

SAVED, PEAKS = 12, 4  # budgets tried for saved bytes and for the peak
MOST = 40
MILPS, LEAST = 96, 2  # for all kinds of blocks together, and for each at least
FEW = 8  # kinds up to which the bounds that say where a MILP pays look at more than the loss
ROOM = 0.002  # of a block's time: a gap to the lower bound that is not worth a MILP


@dataclass(frozen=True, slots=True)
class Option:
    """A schedule of a block alone.  Bytes; pairs are (when the block pays for its input, when another does)."""

    codes: Codes
    time_s: float  # recomputation inside the backward
    saved: int  # kept from forward to backward, without the block's input and output
    keeps: bool  # its backward reads the input, directly or to recompute
    needs: bool  # its backward reads the kept output
    forward_peak: tuple[int, int]
    backward_peak: tuple[int, int]
    again_s: float  # running the forward again, output included
    again_last_s: float  # without the output

    def beats(self, other: Option) -> bool:
        """No worse in anything."""
        return (
            self.time_s <= other.time_s
            and self.saved <= other.saved
            and self.keeps <= other.keeps
            and self.needs <= other.needs
            and all(a <= b for a, b in zip(self.forward_peak, other.forward_peak, strict=True))
            and all(a <= b for a, b in zip(self.backward_peak, other.backward_peak, strict=True))
        )


def describe(block: Local, codes: Codes) -> Option:
    """Measure a schedule of the block alone."""
    middle = block.middle
    own, free = profile(block.net, codes), profile(block.unowned(), codes)
    kept = _kept(block.net, own, middle)
    keeps, needs = block.input in kept, block.output in kept
    saved = sum(block.net.size[r] for r in kept if r not in (block.input, block.output))
    return Option(
        codes=codes,
        time_s=block.net.time(codes),
        saved=saved,
        keeps=keeps,
        needs=needs,
        forward_peak=(max(own.peaks[:middle]), max(free.peaks[:middle])),
        backward_peak=(max(own.peaks[middle + 1 :]), max(free.peaks[middle + 1 :])),
        again_s=_again(block.net, kept | {block.output}),
        again_last_s=_again(block.net, kept),
    )


def _kept(net: Net, run: Profile, middle: int) -> set[int]:
    """Roots made in forward that are live after the middle."""
    made = {r for o in range(net.n_forward) for r in net.writes[o]}
    return made - {r for s in range(middle + 1) for r in run.dies[s]} - net.held


def _again(net: Net, wanted: set[int]) -> float:
    """Seconds to make `wanted` from the input; what runs once is still there."""
    need, time_s = set(wanted), 0.0
    for o in reversed(range(net.n_forward)):
        if net.recomputable[o] and need.intersection(net.writes[o]):
            time_s += net.time_s[o]
            need.update(net.reads[o])
    return time_s


def options(block: Local, effort: Effort, kinds: int, cache: Cache | None = None) -> tuple[Option, ...]:
    """Options of a block: the best that greedy and MILP find for pairs of budgets on saved bytes and peak.

    The more kinds of blocks there are, the fewer MILPs each gets.  What `cache` has is not solved again.
    """
    known = cache.load(block.net, kinds) if cache is not None else None
    if known is None:
        known = _search(block, effort, kinds)
        if cache is not None and not effort.cut:
            cache.store(block.net, kinds, known)
    return thin(tuple(describe(block, codes) for codes in known))


def _search(block: Local, effort: Effort, kinds: int) -> list[Codes]:
    found: dict[Codes, None] = {(): None}
    nets: dict[Task, Net] = {}
    for net, most in _budgets(block):
        codes = shrink(net, (), most)
        if codes is not None:
            codes = polish(net, codes, most, 6)
            found[codes] = None
        known = net.time(codes) if codes is not None else 2 * sum(net.time_s)
        if known > 0:
            nets[Task(most, known, lower_bound(net, most, moments=3 if kinds <= FEW else 0))] = net
    limit = tier(build(block.net))
    limit = replace(limit, budgets=min(limit.budgets, max(MILPS // kinds, LEAST)))
    chosen = choose(list(nets), limit, ROOM * sum(block.net.time_s))
    for answer in optimise_all([(build(nets[task]), task) for task in chosen], effort):
        if answer.codes is not None:
            found[answer.codes] = None
    return list(found)


def _budgets(block: Local) -> Iterator[tuple[Net, int]]:
    """Nets with a rest of the network that leaves so much to save, and peaks to stay within (bytes)."""
    start = profile(block.net, ())
    top, saved = start.peak, start.peaks[block.middle]
    for step in range(PEAKS):
        limit = top - top * step // (2 * PEAKS)
        for k in range(SAVED):
            target = saved - saved * k // SAVED
            if target <= limit:
                yield block.with_rest(limit - target), limit


def thin(found: tuple[Option, ...]) -> tuple[Option, ...]:
    """Without the beaten ones, and at most `MOST`: the fastest of each stretch of saved bytes."""
    ordered = sorted(found, key=lambda o: (o.time_s, o.saved, o.backward_peak, o.forward_peak, o.codes))
    best: list[Option] = []
    for option in ordered:
        if not any(b.beats(option) for b in best):
            best.append(option)
    if len(best) <= MOST:
        return tuple(best)
    ends = {
        min(best, key=lambda o: (o.saved, o.time_s)).codes,
        min(best, key=lambda o: (o.backward_peak, o.time_s)).codes,
    }
    step = (len(best) - 1) / (MOST - 1)
    picked = {best[round(k * step)].codes for k in range(MOST)} | ends
    return tuple(o for o in best if o.codes in picked)
