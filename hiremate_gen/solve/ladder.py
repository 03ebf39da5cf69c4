"""From the frontier to one budget: halving the range of budgets around it (FORMULATION.md, "Ladder")."""

from __future__ import annotations

from dataclasses import dataclass, field

from hiremate_gen.solve.bound import lower_bound
from hiremate_gen.solve.exact import Effort, Task, optimise_all, tier
from hiremate_gen.solve.frontier import Frontier, Point, point
from hiremate_gen.solve.greedy import shrink
from hiremate_gen.solve.moments import relaxations
from hiremate_gen.solve.net import Codes, profile
from hiremate_gen.solve.polish import polish
from hiremate_gen.solve.takeback import reduce
from hiremate_gen.solve.unify import ALLOWED, unify

STEPS = 1_200_000  # steps replayed while polishing on the way to one budget: some four seconds
DROPPED = 60_000  # steps replayed to shrink a schedule into a rung
POLISHED, FINE = 8, 5  # halvings with much polish, and with little after that
LAID = ((100, 3, 1), (300, 3, 1))  # forward ops up to which so many moments propose schedules, with so many nodes
FAR = 1.25  # of the budget: a layout that needs so much tells nothing, nor does one that needs more than the one before
CLOSE = 2e-4  # of the step's time: a gap that is not worth more effort
WIDE = 0.02  # of the step's time: a gap that is worth PATIENCE times the repairs, in nets of up to SMALL forward ops
PATIENCE, SMALL = 4, 300
BOUNDED = 800  # forward ops up to which each rung gets a lower bound
ROOM = 0.002  # of the step's time: a gap that is not worth a MILP
SAME = 1e-5  # of the step's time: a range of times that is not worth another halving


@dataclass(frozen=True, slots=True)
class Rung:
    """A budget in bytes and the best schedule found for it."""

    budget: int
    point: Point


@dataclass(slots=True)
class Ladder:
    """Rungs are made when a budget asks for them.  A rung depends on the two around it only, and its schedule is never
    faster than that of the rung above: so more budget never costs time, whatever was asked for before."""

    frontier: Frontier
    effort: Effort
    rungs: dict[tuple[int, int], Rung] = field(default_factory=dict)

    def best(self, budget: int) -> Point | None:
        """The schedule for `budget` bytes; None when it is below the smallest peak."""
        least, top = self.least, self.frontier.points[-1]
        low, high = Rung(least.peak, least), Rung(top.peak, top)
        if budget < low.budget:
            return None
        for level in range(POLISHED + FINE):
            if high.point.peak <= budget:
                return high.point
            if self._settled(low, high):
                break
            middle = self._rung(low, high, level)
            low, high = (middle, high) if budget >= middle.budget else (low, middle)
        return high.point if high.point.peak <= budget else low.point

    @property
    def least(self) -> Point:
        """The schedule with the smallest peak."""
        found = self.frontier.points[0]
        return self._unified(found, found.peak, float("inf"))

    def _settled(self, low: Rung, high: Rung) -> bool:
        step_s = sum(self.frontier.net.time_s)
        return high.budget - low.budget < 2 or low.point.time_s - high.point.time_s <= SAME * step_s

    def _rung(self, low: Rung, high: Rung, level: int) -> Rung:
        key = low.budget, high.budget
        if key not in self.rungs:
            self.rungs[key] = self._make(low, high, level)
        return self.rungs[key]

    def _make(self, low: Rung, high: Rung, level: int) -> Rung:
        """The rung in the middle of two."""
        net, budget = self.frontier.net, (low.budget + high.budget) // 2
        if high.point.peak <= budget:
            return Rung(budget, high.point)
        found = self._starts(low, high, budget)
        careful = level < POLISHED or net.n_forward <= SMALL
        least_s = lower_bound(net, budget, moments=3) if careful and net.n_forward <= BOUNDED else 0.0
        least_s = max(least_s, high.point.time_s)
        if careful and self._open(found, least_s):
            least_s = self._relaxed(budget, found, least_s, level)
        if self._open(found, least_s):
            starts = sorted(found, key=_order)[:2]
            moves = self._moves(level, starts[0].time_s - least_s)
            found += [point(net, polish(net, s.codes, budget, moves, least_s)) for s in starts]
        if self._open(found, least_s):
            found += self._exact(budget, min(found, key=_order), least_s, level)
        fits = [p for p in (*found, low.point) if p.peak <= budget]
        chosen = self._slowed(fits, high.point.time_s)
        unified = self._unified(chosen, budget, low.point.time_s)
        return Rung(budget, unified if unified.time_s >= high.point.time_s else chosen)

    def _open(self, found: list[Point], least_s: float) -> bool:
        """Whether there is time, and enough left to win to go on."""
        close_s = CLOSE * sum(self.frontier.net.time_s)
        return min(p.time_s for p in found) > least_s + close_s and not self.effort.over

    def _relaxed(self, budget: int, found: list[Point], least_s: float, level: int) -> float:
        """The seconds that relaxations over moments prove; what they propose, shrunk until it fits, goes to `found`."""
        net = self.frontier.net
        most, nodes = next((rest for size, *rest in LAID if net.n_forward <= size), (2, 0))
        near = FAR * budget
        for relaxed in relaxations(net, budget, most, nodes if level < POLISHED else 0, CLOSE / 2):
            least_s = max(least_s, relaxed.least_s)
            if relaxed.codes is None:
                break
            codes = shrink(net, relaxed.codes, budget, rounds=self._rounds)
            if codes is not None:
                found.append(point(net, reduce(net, codes, budget)))
            peak = profile(net, relaxed.codes).peak
            if peak > near or not self._open(found, least_s):
                break
            near = peak
        return least_s

    @property
    def _rounds(self) -> int:
        return max(DROPPED // self.frontier.net.n_ops, 8)

    def _unified(self, found: Point, budget: int, most_s: float) -> Point:
        """With fewer variants of the blocks that do the same work, at almost no cost."""
        net = self.frontier.net
        limit_s = min(found.time_s + ALLOWED * sum(net.time_s), most_s)
        return point(net, unify(net, found.codes, budget, limit_s))

    def _moves(self, level: int, gap_s: float) -> int:
        """Repairs to try from each of two starts."""
        net = self.frontier.net
        moves = STEPS // (8 * (net.n_ops + net.n_forward) * 2 * POLISHED)
        if level >= POLISHED:
            return min(moves, 2)
        moves = min(moves, 4 * net.n_forward, 150)
        wide = net.n_forward <= SMALL and gap_s > WIDE * sum(net.time_s)
        return PATIENCE * moves if wide else moves

    def _starts(self, low: Rung, high: Rung, budget: int) -> list[Point]:
        """Ways into a rung, fastest first: what fits, and what does not, shrunk until it does."""
        net = self.frontier.net
        found: dict[Codes, Point] = {}
        fits = self.frontier.best(budget)
        for known in (low.point, *([fits] if fits else [])):
            found.setdefault(known.codes, known)
        for above in (high.point, self.frontier.above(budget)):
            codes = shrink(net, above.codes, budget, rounds=self._rounds) if above is not None else None
            if codes is not None:
                codes = reduce(net, codes, budget)
                found.setdefault(codes, point(net, codes))
        return sorted(found.values(), key=_order)

    def _exact(self, budget: int, best: Point, least_s: float, level: int) -> list[Point]:
        """What the MILP finds, where the gap is worth it."""
        model, net = self.frontier.model, self.frontier.net
        if model is None or best.time_s - least_s <= ROOM * sum(net.time_s) or level >= tier(model).levels:
            return []
        answers = optimise_all([(model, Task(budget, best.time_s, least_s))], self.effort)
        return [point(net, a.codes) for a in answers if a.codes is not None]

    def _slowed(self, found: list[Point], floor_s: float) -> Point:
        """The fastest of those found that is not faster than `floor_s`: what is faster gives time for memory."""
        net = self.frontier.net
        allowed = [p for p in found if p.time_s >= floor_s]
        for fast in sorted((p for p in found if p.time_s < floor_s), key=_order)[:2]:
            codes: Codes | None = fast.codes
            for _ in range(20):
                codes = shrink(net, codes, point(net, codes).peak - 1) if codes is not None else None
                if codes is None or net.time(codes) >= floor_s:
                    break
            if codes is not None and net.time(codes) >= floor_s:
                allowed.append(point(net, codes))
        return min(allowed, key=_order)


def _order(p: Point) -> tuple[float, int, Codes]:
    return p.time_s, p.peak, p.codes
