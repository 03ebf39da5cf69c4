"""Several moments of backward at once, with whole decisions: bounds and schedules (FORMULATION.md, "Moments")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiremate_gen.solve.bound import forward_root, gradients, room, single
from hiremate_gen.solve.exact import Effort
from hiremate_gen.solve.hush import silence
from hiremate_gen.solve.milp import solve
from hiremate_gen.solve.net import Codes, Net, profile
from hiremate_gen.solve.rows import Rows

# Forward ops up to which so many moments are taken, and so many nodes searched for each set of them.
SIZES = ((100, 6, 400), (200, 4, 40), (800, 3, 1))
LONG_S = 1e9  # nodes end the search, never the clock
MARGIN = 1e-6  # of the step's time: what the solver's tolerances may be worth


@dataclass(frozen=True, slots=True)
class Relaxed:
    """What some moments bound together say: seconds that every schedule recomputes at least, and a schedule that does
    what the best solution found does (None when there is none); it may need more than the budget at other moments."""

    least_s: float
    codes: Codes | None


def sharpen(net: Net, budget: int, known_s: float, least_s: float, effort: Effort) -> float:
    """Seconds of recomputation that every schedule within `budget` bytes has at least; `least_s` are proven and
    `known_s` are those of a schedule."""
    most, nodes = next((rest for size, *rest in SIZES if net.n_forward <= size), (2, 0))
    found, before = least_s, 0.0
    for relaxed in relaxations(net, budget, most, nodes):
        found = max(found, min(relaxed.least_s, known_s))
        if found >= known_s * (1 - 1e-6) or relaxed.least_s < before or effort.over:
            break
        before = relaxed.least_s
    return found


def relaxations(net: Net, budget: int, most: int, nodes: int, within: float = 1e-6) -> Iterator[Relaxed]:
    """Ever more moments, two to `most`, as long as the schedules need more than `budget` bytes.

    First the LP of two, its decisions rounded, then whole decisions with `nodes` of the search for each set of moments
    (0: the LP alone), which ends when no more than the fraction `within` of the step's time is left to win.

    Starts with the loss and the moment that says most by itself.  The solution, laid out as a schedule, shows at which
    moment it needs more than the budget: that one is added, and so on.
    """
    if not any(forward_root(net, r) for r in range(len(net.size))):
        return
    sums, alone = gradients(net), single(net, budget)
    moments = sorted({net.n_forward - 1, max(alone, key=lambda k: (alone[k], -k))})
    yield _relaxed(net, _problem(net, budget, moments, sums), moments, 0, within)
    while nodes and len(moments) <= most:
        found = _relaxed(net, _problem(net, budget, moments, sums), moments, nodes, within)
        yield found
        codes = found.codes
        more = _worst(net, budget, moments, codes) if codes is not None else -1
        if more < 0:
            return
        moments = sorted([*moments, more])


@dataclass(frozen=True, slots=True)
class _Problem:
    """Columns: for each moment the ops that run again after it and before the next (integer), then what is held."""

    ops: int
    cost: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    matrix: sp.csr_matrix
    right: npt.NDArray[np.float64]
    width: int  # columns of one moment


def _problem(net: Net, budget: int, moments: list[int], sums: tuple[list[int], list[int]]) -> _Problem:
    n, scale = net.n_forward, max(sum(net.time_s), 1e-30)
    roots = [r for r in range(len(net.size)) if forward_root(net, r)]
    place = {r: n + k for k, r in enumerate(roots)}
    width = n + len(roots)
    rows = Rows()
    lower, upper = np.zeros(width * len(moments)), np.ones(width * len(moments))
    for m, moment in enumerate(moments):
        at, end = m * width, moments[m + 1] if m + 1 < len(moments) else net.n_ops - 1
        may = _may_run(net, moment, end)
        there = {r: [(at + place[r], -1.0), (at + net.producer[r], -1.0)] for r in roots}  # held, or made again
        for r in sorted({r for k in range(moment + 1, end + 1) for r in net.reads[k] if r in place}):
            rows.add(there[r], -1.0)
        for v in range(n):
            upper[at + v] = float(may[v])
            for r in net.reads[v] if may[v] else ():
                if r in place:
                    rows.add([(at + v, 1.0), *there[r]], 0.0)
        if end < net.n_ops - 1:
            for r in roots:
                rows.add([(at + width + place[r], 1.0), *there[r]], 0.0)
        space, present = room(net, budget, moment, sums)
        for r in present:
            if r in place:
                lower[at + place[r]] = 1.0
        rows.add([(at + place[r], 100.0 * net.size[r] / max(space, 1)) for r in roots], 100.0 if space > 0 else 0.0)
    cost = np.tile(np.array([*(t / scale for t in net.time_s[:n]), *(0.0 for _ in roots)]), len(moments))
    return _Problem(n, cost, lower, upper, rows.matrix(width * len(moments)), np.array(rows.right), width)


def _may_run(net: Net, moment: int, end: int) -> list[bool]:
    """Forward ops that may run again after a moment and before the op after `end`: inside a block only its own may."""
    stages = range(max(moment + 1, net.n_forward), end + 1)
    blocks, any_block = {net.block[k] for k in stages}, any(net.gate[k] > moment for k in stages)
    return [net.recomputable[v] and (any_block or net.block[v] in blocks) for v in range(net.n_forward)]


def _relaxed(net: Net, problem: _Problem, moments: list[int], nodes: int, within: float) -> Relaxed:
    """Solve it: with whole decisions, or its LP when there are no `nodes`."""
    columns = len(problem.cost)
    whole = [[c for c in range(columns) if c % problem.width < problem.ops]] if nodes else False  # one axis
    x = cp.Variable(columns, integer=whole, bounds=[problem.lower, problem.upper])
    ask = cp.Problem(cp.Minimize(problem.cost @ x), [problem.matrix @ x <= problem.right])
    with silence():
        values, bound, status = solve(ask, x, gap=(1e-3, within), nodes=nodes, limit_s=LONG_S)
    if values is None:
        return Relaxed(0.0, None)
    if not nodes:
        bound = float(problem.cost @ values) if status == cp.OPTIMAL else 0.0
    least_s = max(bound - MARGIN, 0.0) * sum(net.time_s) if np.isfinite(bound) else 0.0
    runs = [np.flatnonzero(v[: problem.ops] > 0.5).tolist() for v in values.reshape(-1, problem.width)]
    return Relaxed(least_s, net.prune(_lay_out(net, moments, runs)))


def _worst(net: Net, budget: int, moments: list[int], codes: Codes) -> int:
    """The backward op at which a schedule needs most, if that is more than the budget; -1 when all fits."""
    run = profile(net, codes)
    need = dict.fromkeys(range(net.n_forward, net.n_ops), 0)
    stage = net.n_ops - 1
    for op, peak in zip(reversed(run.steps), reversed(run.peaks), strict=True):
        if op >= net.n_forward:
            stage = op
        elif stage == net.n_forward:
            break
        need[stage] = max(need[stage], peak)
    for k in moments:
        need.pop(k, None)
    worst = max(need, key=lambda k: (need[k], -k), default=-1)
    return worst if worst >= 0 and need[worst] > budget else -1


def _lay_out(net: Net, moments: list[int], runs: list[list[int]]) -> Codes:
    """Each op that runs again between two moments, as late as its readers and its block allow."""
    codes: list[int] = []
    for m, ops in enumerate(runs):
        first = max(moments[m] + 1, net.n_forward)
        end = moments[m + 1] if m + 1 < len(moments) else net.n_ops - 1
        needed: dict[int, int] = {}
        for k in range(end, first - 1, -1):
            needed.update(dict.fromkeys(net.reads[k], k))
        for v in reversed(ops):
            stage = net.stage_for(min((needed[r] for r in net.writes[v] if r in needed), default=end), v)
            if stage < 0:
                continue
            codes.append(net.code(stage, v))
            for r in net.reads[v]:
                needed[r] = min(needed.get(r, stage), stage)
    return tuple(sorted(codes))
