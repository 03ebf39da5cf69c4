"""Schedules from the smallest peak to no recomputation at all: where the ladder of budgets starts from."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from hiremate_gen.solve.exact import Effort, tier
from hiremate_gen.solve.greedy import shrink
from hiremate_gen.solve.model import Model, build
from hiremate_gen.solve.net import Codes, Net, profile
from hiremate_gen.solve.polish import ROUNDS, polish
from hiremate_gen.solve.takeback import reduce
from hiremate_gen.solve.timeline import timeline

LARGE = 1500  # ops from which the greedy on the whole net is left to the DP
SMALL = 200  # binaries up to which the whole net is a MILP: beyond, it cost much and won little
MOST = 100  # forward ops up to which that MILP is built at all
NEAR = 6  # schedules next to the smallest peak that are shrunk further
LEAST = 240_000  # steps replayed to make the smallest peak faster


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """A schedule with its exact peak in bytes and its seconds of recomputation."""

    peak: int
    time_s: float
    codes: Codes


def point(net: Net, codes: Codes) -> Point:
    """Measure a schedule."""
    line = timeline(net, codes)
    peak = line.peak if len(line.codes) == len(codes) else profile(net, codes).peak  # it has what nothing reads
    return Point(peak, net.time(codes), codes)


@dataclass(slots=True)
class Frontier:
    """Schedules of one net, none beaten in both peak and time by another; the net's MILP where it is small enough."""

    net: Net
    points: list[Point] = field(default_factory=list)
    model: Model | None = None

    def add(self, codes: Codes) -> None:
        """Take a schedule in, and put out those that it beats."""
        new = point(self.net, codes)
        if any(p.peak <= new.peak and p.time_s <= new.time_s for p in self.points):
            return
        rest = [p for p in self.points if p.peak < new.peak or p.time_s < new.time_s]
        self.points = sorted([*rest, new])

    def best(self, budget: int) -> Point | None:
        """The fastest schedule within `budget` bytes."""
        fits = [p for p in self.points if p.peak <= budget]
        return min(fits, key=lambda p: (p.time_s, p.peak, p.codes)) if fits else None

    def above(self, budget: int) -> Point | None:
        """The slowest schedule that does not fit `budget` bytes."""
        return next((p for p in self.points if p.peak > budget), None)


def base(net: Net, seeds: Iterable[Codes], effort: Effort) -> Frontier:
    """What `seeds`, the greedy, and the MILP for the smallest peak reach."""
    frontier = Frontier(net)
    for codes in ((), *seeds):
        frontier.add(codes)
    if net.n_ops < LARGE or len(frontier.points) == 1:
        _descend(frontier)
    if net.n_forward <= MOST:
        model = build(net)
        if len(model.runs) <= SMALL:
            frontier.model = model
            _smallest(frontier, model, effort)
    moves = min(LEAST // (8 * (net.n_ops + net.n_forward)), 100)
    _deepen(frontier, moves)
    least = frontier.points[0]
    frontier.add(polish(net, least.codes, least.peak, moves))
    return frontier


def _deepen(frontier: Frontier, moves: int) -> None:
    """Push the smallest peak down: shrink the schedules next to it with noise, in steps that halve when none helps."""
    net, rng = frontier.net, random.Random(0)
    step, missed = max((frontier.points[0].peak - net.base) // 64, 1), 0
    for move in range(moves):
        start = frontier.points[move % min(len(frontier.points), NEAR)]
        spread = rng.choice((0.0, 0.3, 0.8))
        factors = [1.0 + spread * (2 * rng.random() - 1) for _ in net.size]
        budget = frontier.points[0].peak - step
        codes = shrink(net, start.codes, budget, factors.__getitem__, rounds=ROUNDS)
        missed += codes is None
        if codes is not None:
            frontier.add(reduce(net, codes, budget))
            missed = 0
        elif missed == NEAR:
            step, missed = max(step // 2, 1), 0


def _smallest(frontier: Frontier, model: Model, effort: Effort) -> None:
    if not model.runs:
        return
    from hiremate_gen.solve.milp import smallest

    peak, nodes = frontier.points[0].peak, tier(model).nodes
    answer = effort.bounded(lambda limit_s: smallest(model, peak, nodes=nodes, limit_s=limit_s))
    if answer is not None and answer.codes is not None:
        frontier.add(answer.codes)


def _descend(frontier: Frontier) -> None:
    """Greedy schedules for ever smaller budgets, each from the one before, until the greedy finds none."""
    net = frontier.net
    top = frontier.points[-1].peak
    step = max((top - net.base) // 64, 1)
    codes: Codes | None = ()
    budget = top
    while codes is not None:
        budget = min(budget - step, point(net, codes).peak - 1)
        codes = shrink(net, codes, budget)
        if codes is not None:
            codes = reduce(net, codes, budget)
            frontier.add(codes)
