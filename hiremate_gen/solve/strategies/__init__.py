"""`--strategy`: ours and the methods of the literature, all as plans of the same kind, to compare and to use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hiremate_gen.config import STRATEGY, TIME_LIMIT_S
from hiremate_gen.errors import InfeasibleError
from hiremate_gen.ir import Chain, Graph, Plan
from hiremate_gen.solve.api import solve
from hiremate_gen.units import show_bytes

__all__ = ["plan"]


def plan(
    graph: Graph,
    chain: Chain,
    budget_bytes: int,
    *,
    strategy: str = STRATEGY,
    time_limit_s: float = TIME_LIMIT_S,
    jobs: int = 2,
    cache: str | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Plan:
    """The fastest plan that `strategy`, one of `config.STRATEGIES`, finds within `budget_bytes`.

    Judged by the exact replay, whatever the method believes.  Raises InfeasibleError when the method has none, with the
    smallest budget for which it has one.  `cache` is a folder where ours keeps solved blocks.
    """
    if strategy == STRATEGY:
        return solve(graph, chain, budget_bytes, time_limit_s=time_limit_s, jobs=jobs, cache=cache, report=report)
    # Not before they are needed: the solver and what it brings take a second to import.
    from hiremate_gen.solve.bound import lower_bound
    from hiremate_gen.solve.build import to_plan
    from hiremate_gen.solve.strategies.methods import METHODS
    from hiremate_gen.solve.strategies.problem import problem

    report(f"solve: {strategy}")
    given = problem(graph, chain, time_limit_s, jobs)
    given.effort.start()
    found = METHODS[strategy](given, budget_bytes)
    if found.point.peak > budget_bytes:
        raise _infeasible(strategy, found.point.peak, budget_bytes)
    step_s = sum(given.net.time_s)
    least_s = max(found.least_s, lower_bound(given.net, budget_bytes))
    gap = (step_s + found.point.time_s) / (step_s + least_s) - 1 if step_s + least_s > 0 else 0.0
    how = "optimal" if gap < 1e-6 else found.status or f"within {100 * gap:.2f} % of the lower bound"
    made = to_plan(chain, given.net, given.names, found.point.codes, strategy, how + given.effort.remark)
    return replace(made, lower_bound_s=step_s + least_s)


def _infeasible(strategy: str, least: int, budget: int) -> InfeasibleError:
    return InfeasibleError(
        f"no plan of strategy {strategy} fits {show_bytes(budget)}: the smallest budget that works with it is {least} "
        f"bytes ({show_bytes(least)})",
        minimum_bytes=least,
        where="--strategy",
        hint=f"give --budget {least} or more, or leave out --strategy",
    )
