"""What the other stages call: `solve`, `keep_all`, `minimum`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from textwrap import shorten
from typing import TYPE_CHECKING

from hiremate_gen.errors import InfeasibleError
from hiremate_gen.ir import Chain, Graph, Op, Plan, replay
from hiremate_gen.solve.build import to_plan, whole
from hiremate_gen.units import show_bytes

if TYPE_CHECKING:
    from hiremate_gen.solve.search import Search

PROVEN = 0.001  # of the step's time: a gap to the lower bound that is not worth more effort


def _quiet(_: str) -> None:
    pass


def keep_all(graph: Graph, chain: Chain) -> Plan:
    """No recomputation: what eager does."""
    net, names, _ = whole(graph, chain)
    plan = to_plan(chain, net, names, (), "none", "optimal: nothing is recomputed")
    return replace(plan, lower_bound_s=sum(net.time_s))


def minimum(graph: Graph, chain: Chain, *, time_limit_s: float = 60, jobs: int = 2) -> Plan:
    """The plan with the smallest peak that our searches reach."""
    from hiremate_gen.solve.search import search

    return _least(chain, search(graph, chain, time_limit_s, jobs))


def _least(chain: Chain, found: Search) -> Plan:
    point = found.ladder.least
    status = f"smallest peak found{found.effort.remark}"
    return to_plan(chain, found.net, found.names, point.codes, "hiremate" if point.codes else "none", status)


def solve(
    graph: Graph,
    chain: Chain,
    budget_bytes: int,
    *,
    time_limit_s: float = 60,
    jobs: int = 2,
    cache: str | None = None,
    report: Callable[[str], None] = _quiet,
) -> Plan:
    """The fastest plan known whose exact replay peaks at `budget_bytes` or less, static bytes included.

    The effort is counted in moves and nodes, so the plan does not depend on the machine.  Only when `time_limit_s`
    processor seconds are over, which is far beyond what a step of some thousand ops takes, the search is cut short,
    and `Plan.status` says so.  `jobs` is the number of threads that solve MILPs; the plan does not depend on it, nor on
    `cache`, a folder where solved blocks are kept.
    Raises InfeasibleError when no plan fits, with the smallest budget that works and what sets it.
    """
    eager = keep_all(graph, chain)
    if replay(graph, eager).peak_bytes <= budget_bytes:
        return eager
    # Not before they are needed: the solver and what it brings take a second to import.
    from hiremate_gen.solve.bound import lower_bound
    from hiremate_gen.solve.cache import Cache
    from hiremate_gen.solve.moments import sharpen
    from hiremate_gen.solve.search import search

    report("solve: searching for schedules")
    found = search(graph, chain, time_limit_s, jobs, Cache(cache) if cache is not None else None)
    found.effort.start()
    point = found.ladder.best(budget_bytes)
    if point is None:
        raise _infeasible(graph, chain, _least(chain, found), budget_bytes)
    net = found.net
    least_s = lower_bound(net, budget_bytes)
    if point.time_s - least_s > PROVEN * sum(net.time_s):
        report("solve: looking for what no schedule can do")
        least_s = sharpen(net, budget_bytes, point.time_s, least_s, found.effort)
    bound_s = sum(net.time_s) + least_s
    gap = (sum(net.time_s) + point.time_s) / bound_s - 1 if bound_s > 0 else 0.0
    status = "optimal" if gap < 1e-6 else f"within {100 * gap:.2f} % of the lower bound"
    plan = to_plan(chain, net, found.names, point.codes, "hiremate", status + found.effort.remark)
    return replace(plan, lower_bound_s=bound_s)


def _infeasible(graph: Graph, chain: Chain, plan: Plan, budget: int) -> InfeasibleError:
    run = replay(graph, plan)
    moment = run.moments[run.peak]
    segment = plan.segments[moment.segment]
    block, op = chain.blocks[segment.block], graph.op[moment.op]
    where = f"{op.origin.file}:{op.origin.line}" if op.origin.file else ""
    return InfeasibleError(
        f"no plan fits {show_bytes(budget)}: the smallest budget that works is {run.peak_bytes} bytes "
        f"({show_bytes(run.peak_bytes)}), set by {_shown(op)} in the {segment.phase} of {block.name or 'the model'}",
        minimum_bytes=run.peak_bytes,
        where=where,
        hint=f"give --budget {run.peak_bytes} or more, or make the batch smaller",
    )


def _shown(op: Op) -> str:
    """As the user wrote it: the statement that an op comes from, or the op where none is known."""
    text = shorten(op.origin.text, 72, placeholder=" ...")
    return f"{'the gradient of ' * op.backward}`{text}`" if text else op.target.split(".")[1]
