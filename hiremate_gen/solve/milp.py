"""The MILP of a net, solved by HiGHS through cvxpy: which ops run again at which stage."""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from hiremate_gen.solve.hush import hush
from hiremate_gen.solve.model import Array, Model
from hiremate_gen.solve.net import Codes


@dataclass(frozen=True, slots=True)
class Answer:
    """A schedule (None when there is none or none was found), the solver's bound, and how HiGHS ended."""

    codes: Codes | None
    bound: float  # on the objective: seconds for `optimise`, bytes for `smallest`
    status: str


def optimise(model: Model, budget: int, most_s: float, *, gap: float, nodes: int, limit_s: float) -> Answer:
    """The fastest schedule of the model within `budget` bytes that takes at most `most_s` seconds of recomputation.

    `gap` is relative; `nodes` and `limit_s` seconds bound the search.
    """
    n = len(model.runs)
    if n == 0:
        return Answer(None, 0.0, "nothing can run again")
    cost, scale = _cost(model)
    runs, rest = cp.Variable(n, boolean=True), cp.Variable(model.columns - n, bounds=[0, 1])
    x = cp.hstack([runs, rest])  # type: ignore[attr-defined]
    matrix, right, _ = _rows(model, budget)
    limits = [matrix @ x <= right, cost @ x <= most_s / scale * (1 + 1e-6) + 1e-4]
    answer = _run(cp.Problem(cp.Minimize(cost @ x), limits), runs, model, gap, nodes, limit_s)
    return Answer(answer.codes, answer.bound * scale, answer.status)


def smallest(model: Model, budget: int, *, nodes: int, limit_s: float) -> Answer:
    """The schedule of the model with the smallest peak, which is `budget` bytes at most; among those a fast one."""
    n = len(model.runs)
    if n == 0:
        return Answer(None, 0.0, "nothing can run again")
    cost, _ = _cost(model)
    runs, rest = cp.Variable(n, boolean=True), cp.Variable(model.columns - n, bounds=[0, 1])
    saved = cp.Variable(bounds=[0, 1])  # fraction of the budget that the peak stays below it
    x = cp.hstack([runs, rest])  # type: ignore[attr-defined]
    matrix, right, whole = _rows(model, budget)
    problem = cp.Problem(cp.Minimize(1e-3 * (cost @ x) - saved), [matrix @ x + saved * whole <= right])
    answer = _run(problem, runs, model, 1e-3, nodes, limit_s)
    return Answer(answer.codes, budget + answer.bound * (budget - model.net.base), answer.status)


def _cost(model: Model) -> tuple[Array, float]:
    """Seconds of each column in units of the step's time, with a tie-break by index; and that time."""
    net, n = model.net, len(model.runs)
    scale = max(sum(net.time_s), 1e-30)
    cost = np.zeros(model.columns)
    for (_, v), column in model.runs.items():
        cost[column] = net.time_s[v] / scale
    cost[:n] += 1e-7 * (1.0 + np.arange(n)[::-1] / n)
    return cost, scale


def _rows(model: Model, budget: int) -> tuple[sp.csr_matrix, Array, Array]:
    """The rows with memory in percent of what the budget leaves; and what the whole of that is in each row."""
    memory = slice(len(model.right) - model.budget_rows, None)
    right, weight, whole = model.right.copy(), np.ones(len(model.right)), np.zeros(len(model.right))
    right[memory] += budget
    weight[memory] = 100.0 / max(budget - model.net.base, 1)
    whole[memory] = 100.0
    return sp.diags(weight) @ model.matrix, weight * right, whole


def _run(problem: cp.Problem, runs: cp.Variable, model: Model, gap: float, nodes: int, limit_s: float) -> Answer:
    values, bound, status = solve(problem, runs, gap=(gap, gap / 10), nodes=nodes, limit_s=limit_s)
    if values is None:
        return Answer(None, bound, status)
    stages = [s[0] for s in model.stages]
    codes = [model.net.code(stages[t], v) for (t, v), column in model.runs.items() if values[column] > 0.5]
    return Answer(model.net.prune(codes), bound, status)


def solve(
    problem: cp.Problem, wanted: cp.Variable, *, gap: tuple[float, float], nodes: int, limit_s: float
) -> tuple[Array | None, float, str]:
    """Values of `wanted` (None when no solution was found), the bound on the objective, and how HiGHS ended.

    One thread and a fixed seed; `gap` is relative and absolute; a bound of 0 where HiGHS has none.
    """
    options = {
        "threads": 1, "parallel": "off", "random_seed": 1, "output_flag": False, "time_limit": limit_s,
        "mip_rel_gap": gap[0], "mip_abs_gap": gap[1], "mip_max_nodes": nodes,
    }  # fmt: skip
    hush()
    # Not `problem.solve`, which warns on standard error when a limit ends the search: the replay judges anyway.
    data, chain, inverse = problem.get_problem_data(cp.HIGHS, solver_opts=options)
    try:
        raw = chain.solve_via_data(problem, data, solver_opts={"highs_options": options})
        solution = chain.invert(raw, inverse)
    except (cp.SolverError, ValueError, ArithmeticError) as error:
        return None, 0.0, f"HiGHS: {error}"
    info = solution.attr.get("solver_specific_stats")
    bound = float(getattr(info, "mip_dual_bound", 0.0) or 0.0)
    return solution.primal_vars.get(wanted.id), bound, str(solution.status)
