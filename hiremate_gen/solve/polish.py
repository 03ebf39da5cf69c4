"""Large neighbourhood search on a schedule: undo some recomputation, repair it with noise, keep what is faster."""

from __future__ import annotations

import random

from hiremate_gen.solve.greedy import shrink
from hiremate_gen.solve.net import Codes, Net, profile
from hiremate_gen.solve.takeback import reduce

ROUNDS = 40  # drops that a repair may take: those that need more go in circles


def polish(net: Net, codes: Codes, budget: int, moves: int, least_s: float = 0.0) -> Codes:
    """A schedule within `budget` bytes that is no slower than `codes`, which must fit.

    `moves` bounds the number of repairs, so the result depends on nothing but the arguments; the search ends early
    at `least_s` seconds of recomputation, below which nothing can be.
    """
    rng = random.Random(0)
    best = reduce(net, codes, budget)
    least = net.time(best)
    for _ in range(moves):
        if least <= least_s * (1 + 1e-6):
            return best
        gone = frozenset(_undone(net, best, rng))
        factors: dict[int, float] = {}
        spread = rng.choice((0.0, 0.3, 0.8))

        def noise(root: int, factors: dict[int, float] = factors, spread: float = spread) -> float:
            return factors.setdefault(root, 1.0 + spread * (2 * rng.random() - 1))

        start = net.prune(c for c in best if c not in gone)
        found = shrink(net, start, budget, noise, gone if rng.random() < 0.7 else frozenset(), ROUNDS)
        if found is None:
            continue
        found = reduce(net, found, budget)
        time_s = net.time(found)
        if time_s < least or (time_s == least and profile(net, found).peak < profile(net, best).peak):
            best, least = found, time_s
    return best


def _undone(net: Net, codes: Codes, rng: random.Random) -> list[int]:
    """What to undo: a few recomputes, all of one op, or some that follow each other."""
    kind = rng.randrange(3)
    if kind == 0:
        return rng.sample(codes, min(len(codes), rng.randint(1, 3)))
    if kind == 1:
        op = rng.choice(codes) % net.n_forward
        return [c for c in codes if c % net.n_forward == op]
    start = rng.randrange(len(codes))
    return list(codes[start : start + rng.randint(2, 8)])
