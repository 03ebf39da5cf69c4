"""Large neighbourhood search on a schedule: undo some recomputation, repair greedily with noise, keep what is faster."""

from __future__ import annotations

import random

from hiremate_gen.solve.greedy import shrink
from hiremate_gen.solve.net import Codes, Net, profile
from hiremate_gen.solve.takeback import reduce


def polish(net: Net, codes: Codes, budget: int, moves: int, seed: int = 0) -> Codes:
    """A schedule within `budget` bytes that is no slower than `codes`, which must fit.

    `moves` bounds the number of repairs, so the result depends on nothing but the arguments.
    """
    rng = random.Random(seed)
    best = reduce(net, codes, budget)
    least = net.time(best)
    for _ in range(moves):
        if not best:
            return best
        gone = frozenset(rng.sample(best, min(len(best), rng.randint(1, 3))))
        factors: dict[int, float] = {}
        spread = rng.choice((0.0, 0.3, 0.8))

        def noise(root: int, factors: dict[int, float] = factors, spread: float = spread) -> float:
            return factors.setdefault(root, 1.0 + spread * (2 * rng.random() - 1))

        start = net.prune(c for c in best if c not in gone)
        found = shrink(net, start, budget, noise, gone if rng.random() < 0.7 else frozenset())
        if found is None:
            continue
        found = reduce(net, found, budget)
        time_s = net.time(found)
        if time_s < least or (time_s == least and profile(net, found).peak < profile(net, best).peak):
            best, least = found, time_s
    return best
