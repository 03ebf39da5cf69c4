"""Large neighbourhood search on a schedule: undo some recomputation, repair it with noise, keep what is faster."""

from __future__ import annotations

import random

from hiremate_gen.solve.greedy import Noise, squeeze
from hiremate_gen.solve.net import Codes, Net
from hiremate_gen.solve.takeback import relax
from hiremate_gen.solve.timeline import timeline

ROUNDS = 40  # drops that a repair may take: those that need more go in circles


def polish(net: Net, codes: Codes, budget: int, moves: int, least_s: float = 0.0) -> Codes:
    """A schedule within `budget` bytes that is no slower than `codes`, which must fit.

    `moves` bounds the number of repairs, so the result depends on nothing but the arguments; the search ends early
    at `least_s` seconds of recomputation, below which nothing can be.
    """
    rng = random.Random(0)
    best = timeline(net, codes)
    relax(best, budget)
    least, peak = net.time(best.codes), best.peak
    for _ in range(moves):
        if least <= least_s * (1 + 1e-6):
            break
        line = best.copy()
        gone = frozenset(_undone(net, best.done(), rng))
        for code in sorted(gone):
            line.take_out(code)
        noise = _noise(rng)
        tabu = gone if rng.random() < 0.7 else frozenset[int]()
        if not squeeze(line, budget, noise, tabu, ROUNDS):
            continue
        relax(line, budget)
        time_s = net.time(line.codes)
        if time_s < least or (time_s == least and line.peak < peak):
            best, least, peak = line, time_s, line.peak
    return best.done()


def _noise(rng: random.Random) -> Noise:
    """Factors on the scores of drops: none, some, or much noise."""
    factors: dict[int, float] = {}
    spread = rng.choice((0.0, 0.3, 0.8))
    return lambda root: factors.setdefault(root, 1.0 + spread * (2 * rng.random() - 1))


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
