"""The whole step as one MILP: P. Jain, A. Jain, A. Nrusimha, A. Gholami, P. Abbeel, K. Keutzer, I. Stoica, J. Gonzalez,
"Checkmate: Breaking the Memory Wall with Optimal Tensor Rematerialization", MLSys 2020.

Solved by HiGHS with a stage for each backward op, so the space is that of FORMULATION.md, and an answer that is called
optimal is optimal there; the other way round, what HiGHS proves is the lower bound of the plan.  The search starts
from a greedy schedule and ends by the time limit at the latest: then the status names the gap, and the plan may depend
on how fast the machine is.

Other than in the paper: lifetimes are derived and need no FREE variables; nothing runs again before the loss exists;
inside a block's backward only its own ops run again, at its start any may.  Not implemented: the two-phase rounding of
the LP.
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
from hiremate_gen.solve.strategies.problem import Found, Problem

GAP = 1e-4  # of the recomputation: closer is optimal
TIE = 2e-7  # the most that the tie-break of the MILP adds for each binary, of the step's time
MOVES = 20
NODES = 2**31 - 1


def checkmate(given: Problem, budget: int) -> Found:
    """The optimum, or the best found in time with the gap in the status."""
    net, effort = given.net, given.effort
    start = _start(net, budget)
    if start is not None and not start.codes:
        return Found(start, "optimal")
    model = build(net, [[k] for k in range(net.n_forward, net.n_ops)])
    known_s = start.time_s if start is not None else 1e3 * sum(net.time_s)
    answer = _within(model, budget, known_s, effort)
    points = [p for p in (start, _point(net, answer)) if p is not None and p.peak <= budget]
    if not points:
        return _least(model, effort)
    best = min(points, key=lambda p: (p.time_s, p.peak, p.codes))
    least_s = max(answer.bound - TIE * len(model.runs) * sum(net.time_s), 0.0)
    if answer.status == "optimal":
        return Found(best, "optimal", least_s)
    gap = (best.time_s - least_s) / sum(net.time_s)
    return Found(best, f"{answer.status} after {effort.limit_s:g} s, gap {100 * gap:.2f} % of the step", least_s)


def _start(net: Net, budget: int) -> Point | None:
    codes = shrink(net, (), budget)
    return None if codes is None else point(net, polish(net, codes, budget, MOVES))


def _within(model: Model, budget: int, known_s: float, effort: Effort) -> Answer:
    """HiGHS keeps rows within a tolerance: where the replay finds some bytes too many, they are taken off."""
    limit, answer = budget, Answer(None, 0.0, "no time left")
    for _ in range(4):
        answer = optimise(model, limit, known_s, gap=GAP, nodes=NODES, limit_s=max(effort.left_s, 1.0))
        found = _point(model.net, answer)
        if found is None or found.peak <= budget:
            return answer
        limit -= found.peak - budget
    return replace(answer, codes=None)


def _least(model: Model, effort: Effort) -> Found:
    """The smallest peak.  The MILP for it gives up a thousandth for time: less is asked for until nothing fits."""
    net = model.net
    best = point(net, ())
    found = _point(net, smallest(model, best.peak, nodes=NODES, limit_s=max(effort.left_s, 1.0)))
    while found is not None:
        best = min(best, found)
        found = _point(net, _within(model, best.peak - 1, 1e3 * sum(net.time_s), effort))
    return Found(best)


def _point(net: Net, answer: Answer) -> Point | None:
    return None if answer.codes is None else point(net, answer.codes)
