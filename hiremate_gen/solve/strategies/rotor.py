"""The optimal persistent schedule of a chain: O. Beaumont, L. Eyraud-Dubois, J. Herrmann, A. Joly, A. Shilova, "Optimal
Checkpointing for Heterogeneous Chains: How to Train Deep Neural Networks with Limited Memory", ACM TOMS 2024 (2019).

The stages are the blocks of the chain, each with two ways: keep all that its backward reads, or keep its input alone
and run it forward again later.  The DP is theirs over memory in levels (FORMULATION.md, "Sequential DP", with one
option a block).  Every level's schedule is measured by the exact replay, so the rounding of sizes costs no budget.

Not implemented: stages finer than a block; a model that is one block has nothing to choose.  In chains of hundreds of
blocks a checkpoint spans as many as `dp.py` allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from hiremate_gen.solve.blocks import Local, cuts, local
from hiremate_gen.solve.dp import schedules, table
from hiremate_gen.solve.net import Codes, profile
from hiremate_gen.solve.options import Option, describe
from hiremate_gen.solve.strategies.problem import Found, Problem, fastest

LEVELS = 400  # costs of the table that are made into schedules


def rotor(given: Problem, budget: int) -> Found:
    """The fastest that the DP reaches with two options a block."""
    return fastest(given.net, _schedules(given), budget)


@lru_cache(maxsize=2)
def _schedules(given: Problem) -> tuple[Codes, ...]:
    return ((), *over_chain(given, lambda block: (describe(block, ()),)))


def over_chain(given: Problem, options: Callable[[Local], tuple[Option, ...]]) -> Iterator[Codes]:
    """Schedules from the DP over the chain, from options of each block; twins share theirs."""
    net, chain = given.net, given.chain
    if len(chain.blocks) == 1:
        return
    cut = cuts(net, given.roots, chain)
    blocks = tuple(local(net, cut, k) for k in range(len(chain.blocks)))
    known: dict[int, tuple[Option, ...]] = {}
    for k, block in enumerate(chain.blocks):
        if block.twin not in known:
            known[block.twin] = options(blocks[k])
    top = profile(net, ()).peak - net.base
    yield from schedules(table(net, cut, blocks, tuple(known[b.twin] for b in chain.blocks), top), LEVELS)
