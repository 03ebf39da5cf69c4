"""Two levels: X. Zhao, T. Le Hellard, L. Eyraud-Dubois, J. Gusak, O. Beaumont, "Rockmate: an Efficient, Fast, Automatic
and Generic Tool for Re-materialization in PyTorch", ICML 2023.

rk-Checkmate: for pairs of budgets on saved bytes and on the peak, a MILP over the ops of each distinct block gives
options.  rk-Rotor: the DP over the chain chooses an option for each block, or runs it forward again from its input.

A pair of budgets is left to a greedy search where that is proven to be near the optimum, and where a block is too large
for the MILP, on which Rockmate would stop; options are thinned by all that the DP asks for.  Not implemented: a
simplification of graphs beyond what `graph` does, and offloading.
"""

from __future__ import annotations

from functools import lru_cache

from hiremate_gen.solve.net import Codes
from hiremate_gen.solve.options import options
from hiremate_gen.solve.strategies.problem import Found, Problem, fastest
from hiremate_gen.solve.strategies.rotor import over_chain


def rockmate(given: Problem, budget: int) -> Found:
    """The fastest that the DP reaches with MILP options inside blocks."""
    return fastest(given.net, _schedules(given), budget)


@lru_cache(maxsize=2)
def _schedules(given: Problem) -> tuple[Codes, ...]:
    kinds = len({block.twin for block in given.chain.blocks})
    return ((), *over_chain(given, lambda block: options(block, given.effort, kinds)))
