"""Segments run again as a whole: T. Chen, B. Xu, C. Zhang, C. Guestrin, "Training Deep Nets with Sublinear Memory
Cost", 2016.

The forward is cut into segments of whole blocks. What crosses a border is kept; everything else that a segment makes
is dropped, and made again by running the segment when backward first needs a part of it. The last segment is kept.
Borders are set as in Algorithm 3, where a segment's bytes exceed a threshold, and by counting blocks; every number of
segments is tried, so the square root comes out where it is best. A model that is one block is cut between ops
instead, and a value that skips a border is kept, as in Algorithm 2.

Not implemented: the recursion of section 4.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from hiremate_gen.solve.net import Codes, Net
from hiremate_gen.solve.strategies.problem import Found, Problem, fastest

MOST = 200  # numbers of segments tried


def sqrt(given: Problem, budget: int) -> Found:
    """The fastest number of segments."""
    net = given.net
    cuts = dict.fromkeys(borders for units in (_units(net),) for borders in _borders(net, units))
    return fastest(net, ((), *(segmented(net, borders) for borders in cuts)), budget)


def segmented(net: Net, borders: tuple[int, ...]) -> Codes:
    """The schedule in which the forward ops from each border (an op, ascending, 0 first) to the next run again
    together; those from the last border on are kept."""
    last = [-1] * len(net.size)
    for v in range(net.n_forward):
        for r in net.reads[v]:
            last[r] = v
    first: dict[int, int] = {}
    for p in range(net.n_forward, net.n_ops):
        for r in net.reads[p]:
            first.setdefault(r, p)
    codes: list[int] = []
    for start, end in pairwise(borders):
        again = [v for v in range(start, end) if net.recomputable[v] and all(last[r] < end for r in net.writes[v])]
        needed = [first[r] for v in again for r in net.writes[v] if r in first and r not in net.held]
        if needed:
            stage = min(needed)
            codes += [net.code(at, v) for v in again if (at := net.stage_for(stage, v)) >= 0]
    return net.prune(codes)


def _units(net: Net) -> list[int]:
    """First ops of what is not cut: of blocks; of every op when there is one block."""
    starts = [v for v in range(net.n_forward) if v == 0 or net.block[v] != net.block[v - 1]]
    return starts if len(starts) > 1 else list(range(net.n_forward))


def _borders(net: Net, units: list[int]) -> Iterator[tuple[int, ...]]:
    """Segmentations, by count and by bytes."""
    count = len(units)
    made = [sum(net.out[a:b]) for a, b in pairwise((*units, net.n_forward))]
    for k in sorted({1 + j * (count - 1) // (MOST - 1) for j in range(MOST)} if count > MOST else range(1, count + 1)):
        yield tuple(units[j * count // k] for j in range(k))
        borders, inside = [0], 0
        for start, size in zip(units, made, strict=True):
            if inside * k > sum(made) and start > borders[-1]:
                borders.append(start)
                inside = 0
            inside += size
        yield tuple(borders)
