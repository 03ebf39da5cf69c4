"""The search behind `solve`: options of blocks, the DP over the chain, the frontier, the ladder of budgets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from hiremate_gen.ir import Chain, Graph
from hiremate_gen.solve.blocks import Cuts, cuts, local
from hiremate_gen.solve.build import whole
from hiremate_gen.solve.cache import Cache
from hiremate_gen.solve.dp import schedules, table
from hiremate_gen.solve.exact import Effort
from hiremate_gen.solve.frontier import base
from hiremate_gen.solve.ladder import Ladder
from hiremate_gen.solve.net import Codes, Net, profile
from hiremate_gen.solve.options import Option, options

REBUILT = 1_000_000  # steps of the schedules that are taken from the DP's table


@dataclass(frozen=True, slots=True)
class Search:
    """What is known of a graph: the same for every budget.  `ladder` finds a schedule for one."""

    net: Net
    names: tuple[str, ...]
    ladder: Ladder
    effort: Effort


@lru_cache(maxsize=4)
def search(graph: Graph, chain: Chain, time_limit_s: float, jobs: int, cache: Cache | None = None) -> Search:
    """Everything that does not depend on the budget."""
    net, names, roots = whole(graph, chain)
    effort = Effort(jobs, time_limit_s)
    seeds = _chain_schedules(net, cuts(net, roots, chain), chain, effort, cache)
    return Search(net, names, Ladder(base(net, seeds, effort), effort), effort)


def _chain_schedules(net: Net, cut: Cuts, chain: Chain, effort: Effort, cache: Cache | None) -> list[Codes]:
    """Schedules that the DP over the chain proposes."""
    if len(chain.blocks) == 1:
        return []  # the whole net is searched in any case
    blocks = tuple(local(net, cut, k) for k in range(len(chain.blocks)))
    known: dict[int, tuple[Option, ...]] = {}
    kinds = len({b.twin for b in chain.blocks})
    for k, block in enumerate(chain.blocks):
        if block.twin not in known:
            known[block.twin] = options(blocks[k], effort, kinds, cache)
    per_block = tuple(known[b.twin] for b in chain.blocks)
    top = profile(net, ()).peak - net.base
    return list(schedules(table(net, cut, blocks, per_block, top), max(min(REBUILT // net.n_ops, 400), 50)))
