"""Every schedule worth having, from the smallest peak to no recomputation at all (FORMULATION.md, "Frontier")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from hiremate_gen.solve.bound import lower_bound
from hiremate_gen.solve.exact import Effort, Task, choose, optimise_all, tier
from hiremate_gen.solve.greedy import shrink
from hiremate_gen.solve.milp import smallest
from hiremate_gen.solve.model import build
from hiremate_gen.solve.net import Codes, Net, profile
from hiremate_gen.solve.polish import polish
from hiremate_gen.solve.takeback import reduce

LARGE = 1500  # ops from which the greedy on the whole net is left to the DP
SMALL = 200  # binaries up to which the whole net is a MILP: beyond, it cost much and won little
MOST = 100  # forward ops up to which that MILP is built at all
BOUNDED = 300  # forward ops up to which each rung gets a lower bound
ROOM = 0.002  # of the step's time: a gap that is not worth a MILP


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
    tasks = _rungs(frontier)
    room = sum(max(t.known_s - t.least_s, 0.0) for t in tasks)
    moves = steps // (8 * (net.n_ops + net.n_forward))
    for task in tasks:
        share = int(moves * (task.known_s - task.least_s) / room) if room > 0 else 0
        for start in _starts(frontier, task.budget) if share else ():
            frontier.add(polish(net, start, task.budget, min(share // 2 + 1, 4 * net.n_forward, 300), task.least_s))
    if net.n_forward <= MOST:
        _certify(frontier, effort)
    least = frontier.points[0]
    frontier.add(polish(net, least.codes, least.peak, min(moves // 20, 100)))
    return frontier


def _rungs(frontier: Frontier) -> list[Task]:
    """Budgets to polish at, with the best seconds known and the least possible: every percent of the largest peak."""
    net, low, high = frontier.net, frontier.points[0].peak, frontier.points[-1].peak
    tasks = []
    for rung in [low, *(int(k / 100 * high) for k in range(1, 100))]:
        known = frontier.best(rung)
        if known is not None:
            least_s = lower_bound(net, rung, moments=3) if net.n_forward <= BOUNDED else 0.0
            tasks.append(Task(rung, known.time_s, least_s))
    return tasks


def _starts(frontier: Frontier, rung: int) -> list[Codes]:
    """Two ways into a rung: the fastest schedule that fits, and the slowest that does not, shrunk until it does."""
    fits, above = frontier.best(rung), next((p for p in frontier.points if p.peak > rung), None)
    shrunk = shrink(frontier.net, above.codes, rung) if above is not None else None
    return [codes for codes in (fits.codes if fits is not None else None, shrunk) if codes is not None]


def _certify(frontier: Frontier, effort: Effort) -> None:
    """Ask the MILP at the rungs where the lower bound leaves most room, and for the smallest peak."""
    model, room_s = build(frontier.net), ROOM * sum(frontier.net.time_s)
    if len(model.runs) > SMALL:
        return
    if effort.left_s > 0:
        answer = smallest(model, frontier.points[0].peak, nodes=tier(model).nodes, limit_s=effort.left_s)
        frontier.add(answer.codes if answer.codes is not None else ())
    tasks = choose(_rungs(frontier), tier(model), room_s)
    for answer in optimise_all([(model, task) for task in tasks], effort):
        if answer.codes is not None:
            frontier.add(answer.codes)


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
