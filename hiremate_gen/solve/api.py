"""What the other stages call: `solve`, `keep_all`, `minimum`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from hiremate_gen.errors import InfeasibleError
from hiremate_gen.ir import Chain, Graph, Plan, replay
from hiremate_gen.solve.blocks import Cuts, cuts, local
from hiremate_gen.solve.bound import lower_bound
from hiremate_gen.solve.build import to_plan, whole
from hiremate_gen.solve.dp import schedules, table
from hiremate_gen.solve.exact import Effort
from hiremate_gen.solve.frontier import Frontier, climb
from hiremate_gen.solve.net import Codes, Net, profile
from hiremate_gen.solve.options import Option, options
from hiremate_gen.units import show_bytes

STEPS = 1_600_000  # steps replayed while polishing: some ten seconds


def _quiet(_: str) -> None:
    pass


def keep_all(graph: Graph, chain: Chain) -> Plan:
    """No recomputation: what eager does."""
    net, names, _ = whole(graph, chain)
    plan = to_plan(chain, net, names, (), "none", "optimal: nothing is recomputed")
    return replace(plan, lower_bound_s=sum(net.time_s))


def minimum(graph: Graph, chain: Chain, *, time_limit_s: float = 60, jobs: int = 2) -> Plan:
    """The plan with the smallest peak that our searches reach."""
    net, names, _ = whole(graph, chain)
    point = _frontier(graph, chain, time_limit_s, jobs).points[0]
    return to_plan(chain, net, names, point.codes, "hiremate" if point.codes else "none", "smallest peak found")


def solve(
    graph: Graph,
    chain: Chain,
    budget_bytes: int,
    *,
    time_limit_s: float = 60,
    jobs: int = 2,
    report: Callable[[str], None] = _quiet,
) -> Plan:
    """The fastest plan known whose exact replay peaks at `budget_bytes` or less, static bytes included.

    `time_limit_s` seconds bound the MILPs, `jobs` is the number of processes that solve them.
    Raises InfeasibleError when no plan fits, with the smallest budget that works and what sets it.
    """
    eager = keep_all(graph, chain)
    if replay(graph, eager).peak_bytes <= budget_bytes:
        return eager
    net, names, _ = whole(graph, chain)
    report("solve: searching for schedules")
    frontier = _frontier(graph, chain, time_limit_s, jobs)
    point = frontier.best(budget_bytes)
    if point is None:
        raise _infeasible(graph, chain, minimum(graph, chain, time_limit_s=time_limit_s, jobs=jobs), budget_bytes)
    bound_s = sum(net.time_s) + lower_bound(net, budget_bytes)
    gap = (sum(net.time_s) + point.time_s) / bound_s - 1 if bound_s > 0 else 0.0
    status = "optimal" if gap < 1e-6 else f"within {100 * gap:.2f} % of the lower bound"
    return replace(to_plan(chain, net, names, point.codes, "hiremate", status), lower_bound_s=bound_s)


@lru_cache(maxsize=4)
def _frontier(graph: Graph, chain: Chain, time_limit_s: float, jobs: int) -> Frontier:
    net, _, roots = whole(graph, chain)
    effort = Effort(jobs, time.monotonic() + time_limit_s)
    return climb(net, _chain_schedules(net, cuts(net, roots, chain), chain, effort), STEPS, effort)


def _chain_schedules(net: Net, cut: Cuts, chain: Chain, effort: Effort) -> list[Codes]:
    """Schedules that the DP over the chain proposes."""
    if len(chain.blocks) == 1:
        return []  # the whole net is searched in any case
    blocks = tuple(local(net, cut, k) for k in range(len(chain.blocks)))
    known: dict[int, tuple[Option, ...]] = {}
    for k, block in enumerate(chain.blocks):
        if block.twin not in known:
            known[block.twin] = options(blocks[k], effort)
    per_block = tuple(known[b.twin] for b in chain.blocks)
    top = profile(net, ()).peak - net.base
    return list(schedules(table(net, cut, blocks, per_block, top), 400))


def _infeasible(graph: Graph, chain: Chain, plan: Plan, budget: int) -> InfeasibleError:
    run = replay(graph, plan)
    moment = run.moments[run.peak]
    segment = plan.segments[moment.segment]
    block, op = chain.blocks[segment.block], graph.op[moment.op]
    where = f"{op.origin.file}:{op.origin.line}" if op.origin.file else ""
    return InfeasibleError(
        f"no plan fits {show_bytes(budget)}: the smallest budget that works is {run.peak_bytes} bytes "
        f"({show_bytes(run.peak_bytes)}), set by {op.target} in the {segment.phase} of {block.name or 'the model'}",
        minimum_bytes=run.peak_bytes,
        where=where,
        hint=f"give --budget {run.peak_bytes} or more, or make the batch smaller",
    )
