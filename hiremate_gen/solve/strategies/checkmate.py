"""The whole step as one MILP: P. Jain, A. Jain, A. Nrusimha, A. Gholami, P. Abbeel, K. Keutzer, I. Stoica, J. Gonzalez,
"Checkmate: Breaking the Memory Wall with Optimal Tensor Rematerialization", MLSys 2020.

Solved by HiGHS with a stage for each backward op, so the space is that of FORMULATION.md, and an answer that is called
optimal is optimal there; the other way round, what HiGHS proves is the lower bound of the plan.  The search starts
from a greedy schedule and ends by the time limit at the latest: then the status names the gap, and the plan may depend
on how fast the machine is.

Other than in the paper: rows of the lower bound tighten the relaxation (`moments.py`); lifetimes are derived and need
no FREE variables; nothing runs again before the loss exists; inside a block's backward only its own ops run again, at
its start any may.  Not implemented: the two-phase rounding of the LP.
"""

from __future__ import annotations

from dataclasses import replace

from hiremate_gen.solve.exact import Effort
from hiremate_gen.solve.frontier import Point, point
from hiremate_gen.solve.greedy import shrink
from hiremate_gen.solve.milp import Answer, optimise, smallest
from hiremate_gen.solve.model import Model, build
from hiremate_gen.solve.net import Net
from hiremate_gen.solve.polish import polish
from hiremate_gen.solve.strategies.dtr import ladder
from hiremate_gen.solve.strategies.moments import tightened
from hiremate_gen.solve.strategies.problem import Found, Problem, fastest

GAP = 1e-4  # of the recomputation: closer is optimal
TIE = 2e-7  # the most that the tie-break of the MILP adds for each binary, of the step's time
LONG = 1e3  # steps: a schedule that is slower than that is not looked for
MOVES = 20
NODES = 2**31 - 1


def checkmate(given: Problem, budget: int) -> Found:
    """The optimum, or the best found in time with the gap in the status."""
    net, effort, step_s = given.net, given.effort, sum(given.net.time_s)
    start = _start(net, budget)
    if not start.codes and start.peak <= budget:
        return Found(start)
    model = tightened(build(net, [[k] for k in range(net.n_forward, net.n_ops)]))
    known_s = start.time_s if start.peak <= budget else LONG * step_s
    answer = _within(model, budget, known_s, effort)
    points = [p for p in (start, _point(net, answer)) if p is not None and p.peak <= budget]
    if not points:
        return _least(model, start, effort)
    best = min(points, key=lambda p: (p.time_s, p.peak, p.codes))
    tie_s = TIE * len(model.runs) * step_s
    least_s = max(answer.bound - tie_s, 0.0)
    if best.time_s <= answer.bound * (1 + GAP) + GAP * step_s / 10 + tie_s:
        return Found(best, "optimal", least_s)
    gap = (best.time_s - least_s) / step_s
    return Found(best, f"stopped after {effort.limit_s:g} s, gap {100 * gap:.2f} % of the step", least_s)


def _start(net: Net, budget: int) -> Point:
    """A schedule within the budget, or one with a small peak, by greedy searches."""
    codes = shrink(net, (), budget)
    best = fastest(net, ((), *([codes] if codes is not None else []), *ladder(net)), budget).point
    return point(net, polish(net, best.codes, budget, MOVES)) if best.peak <= budget else best


def _within(model: Model, budget: int, known_s: float, effort: Effort) -> Answer:
    """The fastest schedule, of `known_s` seconds at most.  HiGHS keeps rows within a tolerance: where the replay finds
    some bytes too many, they are taken off the budget, which leaves the bound as it was."""
    first = answer = _ask(model, budget, known_s, effort)
    limit = budget
    for _ in range(3):
        found = _point(model.net, answer)
        if found is None or found.peak <= budget:
            return replace(answer, bound=first.bound)
        limit -= found.peak - budget
        answer = _ask(model, limit, known_s, effort)
    return replace(answer, codes=None, bound=first.bound)


def _ask(model: Model, budget: int, known_s: float, effort: Effort) -> Answer:
    return optimise(model, budget, known_s, gap=GAP, nodes=NODES, limit_s=max(effort.left_s, 1.0))


def _least(model: Model, known: Point, effort: Effort) -> Found:
    """The smallest peak.  The MILP for it gives up a thousandth for time: less is asked for until nothing fits."""
    net, best = model.net, known
    found = _point(net, smallest(model, best.peak, nodes=NODES, limit_s=max(effort.left_s, 1.0)))
    while found is not None:
        best = min(best, found)
        found = _point(net, _within(model, best.peak - 1, LONG * sum(net.time_s), effort))
    return Found(best)


def _point(net: Net, answer: Answer) -> Point | None:
    return None if answer.codes is None else point(net, answer.codes)
