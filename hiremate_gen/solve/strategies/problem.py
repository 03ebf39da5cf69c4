"""What every method is given, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from hiremate_gen.ir import Chain, Graph
from hiremate_gen.solve.build import whole
from hiremate_gen.solve.exact import Effort
from hiremate_gen.solve.frontier import Point, point
from hiremate_gen.solve.net import Codes, Net


@dataclass(frozen=True, eq=False)
class Problem:
    """A training step: its net, the names of ops and roots, the chain of blocks, and how long a solver may take.

    Equal to itself alone, so that what does not depend on the budget is found once (`functools.cache`)."""

    net: Net
    names: tuple[str, ...]
    roots: tuple[str, ...]
    chain: Chain
    effort: Effort


@dataclass(frozen=True, slots=True)
class Found:
    """The fastest schedule within the budget; where there is none, the one with the smallest peak.

    `least_s`: seconds of recomputation that the method proves every schedule to have.
    """

    point: Point
    status: str = ""
    least_s: float = 0.0


Method = Callable[[Problem, int], Found]


@lru_cache(maxsize=2)
def problem(graph: Graph, chain: Chain, time_limit_s: float, jobs: int) -> Problem:
    """The step as the methods see it."""
    net, names, roots = whole(graph, chain)
    return Problem(net, names, roots, chain, Effort(jobs, time_limit_s))


def fastest(net: Net, schedules: Iterable[Codes], budget: int) -> Found:
    """The choice among schedules that do not depend on the budget, or are more when it is larger: so more budget never
    costs time."""
    points = [point(net, codes) for codes in dict.fromkeys(net.prune(codes) for codes in schedules)]
    fits = [p for p in points if p.peak <= budget]
    return Found(min(fits, key=lambda p: (p.time_s, p.peak, p.codes)) if fits else min(points))
