"""Every schedule worth having, from the smallest peak to no recomputation at all (FORMULATION.md, "Frontier")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from hiremate_gen.solve.bound import lower_bound
from hiremate_gen.solve.exact import Effort, Task, optimise_all, spread, tier
from hiremate_gen.solve.greedy import shrink
from hiremate_gen.solve.milp import build
from hiremate_gen.solve.net import Codes, Net, profile
from hiremate_gen.solve.polish import polish
from hiremate_gen.solve.takeback import reduce

RUNGS = 48
LARGE = 1500  # ops from which the greedy on the whole net is left to the DP
ROOM = 0.0005  # of the step's time: a gap that is not worth a MILP


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """A schedule with its exact peak in bytes and its seconds of recomputation."""

    peak: int
    time_s: float
    codes: Codes


@dataclass(slots=True)
class Frontier:
    """Schedules of one net, none beaten in both peak and time by another."""

    net: Net
    points: list[Point] = field(default_factory=list)

    def add(self, codes: Codes) -> None:
        """Take a schedule in, and put out those that it beats."""
        point = Point(profile(self.net, codes).peak, self.net.time(codes), codes)
        if any(p.peak <= point.peak and p.time_s <= point.time_s for p in self.points):
            return
        rest = [p for p in self.points if p.peak < point.peak or p.time_s < point.time_s]
        self.points = sorted([*rest, point])

    def best(self, budget: int) -> Point | None:
        """The fastest schedule within `budget` bytes."""
        fits = [p for p in self.points if p.peak <= budget]
        return min(fits, key=lambda p: (p.time_s, p.peak, p.codes)) if fits else None


def climb(net: Net, seeds: Iterable[Codes], steps: int, effort: Effort) -> Frontier:
    """The frontier that `seeds`, the greedy, the polish and the MILP reach; the polish replays about `steps` steps."""
    frontier = Frontier(net)
    for codes in ((), *seeds):
        frontier.add(codes)
    if net.n_ops < LARGE or len(frontier.points) == 1:
        _descend(frontier)
    rungs = ladder(frontier)
    moves = steps // (max(len(rungs), 1) * 8 * (net.n_ops + net.n_forward))
    for rung in rungs:
        start = frontier.best(rung)
        if start is not None:
            frontier.add(polish(net, start.codes, rung, min(moves, 200)))
    _certify(frontier, rungs, effort)
    return frontier


def _certify(frontier: Frontier, rungs: list[int], effort: Effort) -> None:
    """Ask the MILP at the rungs where the lower bound leaves room."""
    net = frontier.net
    if net.n_forward > 200:
        return
    model = build(net)
    count, _ = tier(model)
    tasks = []
    for rung in spread(rungs, count):
        known = frontier.best(rung)
        if known is not None and known.time_s - lower_bound(net, rung) > ROOM * sum(net.time_s):
            tasks.append(Task(model, rung, known.time_s))
    for answer in optimise_all(tasks, effort):
        if answer.codes is not None:
            frontier.add(answer.codes)


def ladder(frontier: Frontier) -> list[int]:
    """Budgets to polish at: evenly from the smallest peak to below the largest."""
    low, high = frontier.points[0].peak, frontier.points[-1].peak
    return sorted({low + (high - low) * k // RUNGS for k in range(RUNGS)}) if high > low else []


def _descend(frontier: Frontier) -> None:
    """Greedy schedules for ever smaller budgets, each from the one before, until the greedy finds none."""
    net = frontier.net
    top = frontier.points[-1].peak
    step = max((top - net.base) // 64, 1)
    codes: Codes | None = ()
    budget = top
    while codes is not None:
        budget = min(budget - step, profile(net, codes).peak - 1)
        codes = shrink(net, codes, budget)
        if codes is not None:
            codes = reduce(net, codes, budget)
            frontier.add(codes)
