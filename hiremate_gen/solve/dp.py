"""The sequential DP over the chain: Rotor's recurrences with options (FORMULATION.md, "Sequential DP")."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hiremate_gen.solve.blocks import Cuts, Local
from hiremate_gen.solve.net import Codes, Net
from hiremate_gen.solve.options import Option, describe

LEVELS = 1500
WORK = (
    800_000  # pairs of segments to look at: what a checkpoint spans is limited in chains of more than a hundred blocks
)
SPAN = 12  # blocks that a checkpoint may span in any chain
Cell = tuple[npt.NDArray[np.float64], npt.NDArray[np.int16]]  # seconds and choice, by level


@dataclass(slots=True)
class Table:
    """Opt(i, l, m, r) for every segment; a choice is an option's index, or their number + j - i to checkpoint at j."""

    net: Net
    cut: Cuts
    blocks: tuple[Local, ...]
    options: tuple[tuple[Option, ...], ...]
    unit: int  # bytes a level
    bare: tuple[Option, ...]  # per block: keep only what cannot be made again
    once: tuple[int, ...]  # per block: bytes of what runs once
    span: int  # blocks that a checkpoint spans at most
    cells: dict[tuple[int, int, int], Cell] = field(default_factory=dict)

    def level(self, size: int) -> int:
        return (2 * size + self.unit) // (2 * self.unit)

    def x(self, block: int) -> int:
        return self.blocks[block].bytes(self.blocks[block].input)

    def y(self, block: int) -> int:
        return self.blocks[block].bytes(self.blocks[block].output)


def table(net: Net, cut: Cuts, blocks: tuple[Local, ...], options: tuple[tuple[Option, ...], ...], top: int) -> Table:
    """Fill the table for memories up to `top` bytes above the static ones."""
    n = len(blocks)
    bare = tuple(_bare(b) for b in blocks)
    span = max(math.isqrt(WORK // n), SPAN)
    result = Table(net, cut, blocks, options, max(-(-top // LEVELS), 1), bare, tuple(o.saved for o in bare), span)
    for length in range(1, n + 1):
        for first in range(n - length + 1) if length <= span else (n - length,):
            for owned in (0, 1):
                result.cells[first, first + length - 1, owned] = _cell(result, first, first + length - 1, owned)
    return result


def _bare(block: Local) -> Option:
    """The block run forward for its output alone."""
    net = block.net
    codes = [net.code(s, v) for s in (block.middle + 1,) for v in range(net.n_forward) if net.recomputable[v]]
    return describe(block, net.prune(codes) if net.n_ops > block.middle + 2 else ())


def _cell(t: Table, i: int, last: int, paid: int) -> Cell:
    best = np.full(LEVELS + 1, np.inf)
    choice = np.full(LEVELS + 1, -1, dtype=np.int16)
    again = last < len(t.blocks) - 1
    for k, option in enumerate(t.options[i]):
        _take(best, choice, k, *_all(t, i, last, paid, option, again))
    if i < last:
        _checkpoints(t, i, last, paid, again, best, choice)
    return best, choice


def _take(
    best: npt.NDArray[np.float64],
    choice: npt.NDArray[np.int16],
    k: int,
    low: int,
    cost: npt.NDArray[np.float64] | float,
) -> None:
    """Write `cost` for the levels from `low` on, where it is lower."""
    if low > LEVELS:
        return
    known = best[low:]
    better = cost < known - 1e-12
    if better.any():
        np.copyto(known, cost, where=better)
        choice[low:][better] = k


def _base(t: Table, i: int, last: int, again: bool) -> int:
    """Bytes from elsewhere while block i runs forward within the segment that ends at `last`."""
    if not again:
        return t.cut.forward_base[i]
    return t.cut.backward_base[last] + t.blocks[last].bytes(t.blocks[last].grad_output)


def _all(t: Table, i: int, last: int, paid: int, o: Option, again: bool) -> tuple[int, npt.NDArray[np.float64] | float]:
    """C_all: from which level, and its cost there."""
    ahead = sum(t.once[i + 1 : last + 1]) if again else 0
    forward = _base(t, i, last, again) + o.forward_peak[paid] + ahead
    backward = t.cut.backward_base[i] + o.backward_peak[paid]
    low, cost = t.level(max(forward, backward)), o.time_s
    if i == last:
        return low, cost + (o.again_last_s if again else 0.0)
    shift = t.level(o.saved + (t.x(i) if o.keeps and not paid else 0) + (t.y(i) if o.needs else 0))
    low = max(low, shift)
    rest = t.cells[i + 1, last, int(o.needs)][0]
    return low, rest[low - shift : LEVELS + 1 - shift] + (cost + (o.again_s if again else 0.0))


def _checkpoints(
    t: Table, i: int, last: int, paid: int, again: bool,
    best: npt.NDArray[np.float64], choice: npt.NDArray[np.int16],
) -> None:  # fmt: skip
    """C_ck: keep x_i only, run blocks i..j-1 forward, do j..last, then i..j-1 anew."""
    kept, forward_s, low = 0 if paid else t.x(i), 0.0, 0
    ahead = sum(t.once[i : last + 1]) if again else 0
    for j in range(i + 1, min(last, i + t.span) + 1):
        k, bare = j - 1, t.bare[j - 1]
        peak = bare.forward_peak[1] if k == i else kept + bare.forward_peak[0]
        peak += kept if k == i else 0
        low = max(low, t.level(_base(t, k, last, again) + peak + (ahead or sum(t.once[i:k]))))
        forward_s += t.bare[k].again_s if again else 0.0
        shift = t.level(kept + sum(t.once[i:j]))
        start = max(low, shift)
        right = t.cells[j, last, 0][0][start - shift : LEVELS + 1 - shift]
        left = t.cells[i, j - 1, paid][0][start:]
        _take(best, choice, len(t.options[i]) + j - i, start, right + left + forward_s)


def schedules(t: Table, most: int) -> Iterator[Codes]:
    """The schedules of the table, one for each cost that some level reaches, at most `most` of them."""
    n = len(t.blocks)
    cost = t.cells[0, n - 1, 0][0]
    levels = [m for m in range(LEVELS + 1) if np.isfinite(cost[m]) and (m == 0 or cost[m] < cost[m - 1] - 1e-12)]
    if len(levels) > most:
        levels = [levels[k * (len(levels) - 1) // (most - 1)] for k in range(most)]
    for m in levels:
        yield _rebuild(t, m)


def _rebuild(t: Table, level: int) -> Codes:
    """Follow the choices from the whole chain down."""
    codes: set[int] = set()
    todo = [(0, len(t.blocks) - 1, level, 0)]
    while todo:
        i, last, m, paid = todo.pop()
        k = int(t.cells[i, last, paid][1][m])
        options = t.options[i]
        if k < len(options):
            o = options[k]
            codes.update(_lift(t.net, t.blocks[i], o.codes))
            shift = t.level(o.saved + (t.x(i) if o.keeps and not paid else 0) + (t.y(i) if o.needs else 0))
            if i < last:
                todo.append((i + 1, last, m - shift, int(o.needs)))
            continue
        j = i + k - len(options)
        codes.update(_forward_again(t, i, j - 1))
        kept = (0 if paid else t.x(i)) + sum(t.once[i:j])
        todo += [(i, j - 1, m, paid), (j, last, m - t.level(kept), 0)]
    return t.net.prune(codes)


def _lift(net: Net, block: Local, codes: Codes) -> Iterator[int]:
    """A block's codes as codes of the whole net."""
    for code in codes:
        yield net.code(block.ops[code // block.net.n_forward], block.ops[code % block.net.n_forward])


def _forward_again(t: Table, first: int, last: int) -> Iterator[int]:
    """Blocks first..last run forward again before the backward of `last`."""
    stages = [o for b in range(last, -1, -1) for o in t.blocks[b].ops if o >= t.net.n_forward]
    for b in range(first, last + 1):
        for o in t.blocks[b].ops:
            if 0 <= o < t.net.n_forward and t.net.recomputable[o] and stages:
                yield t.net.code(stages[0], o)
