"""The best schedule of a small net by a shortest path over states: position and the set of live forward roots."""

from __future__ import annotations

from itertools import combinations

from hiremate_gen.solve.bound import gradients
from hiremate_gen.solve.net import Net

State = frozenset[int]


def least_time(net: Net, budget: int) -> float | None:
    """Seconds of recomputation of the best schedule within `budget`; None when there is none.  No in-place ops."""
    during, after = gradients(net)
    mine = {r for r, p in enumerate(net.producer) if 0 <= p < net.n_forward and r not in net.held}
    states: dict[State, float] = {frozenset(): 0.0}
    for v in range(net.n_forward):
        states = _run(net, states, v, mine, budget - (during[v]), 0.0)
    for p in range(net.n_forward, net.n_ops):
        for v in range(net.n_forward):
            if net.stage_for(p, v) == p:
                again = _run(net, states, v, mine, budget - after[p - 1] - net.work[v], net.time_s[v])
                states = _least(states, again)
        states = _run(net, states, p, mine, budget - during[p], 0.0)
    return min(states.values(), default=None)


def _run(net: Net, states: dict[State, float], op: int, mine: set[int], space: int, cost: float) -> dict[State, float]:
    """Run an op in every state that has its inputs, then free any subset."""
    reads, writes = set(net.reads[op]) & mine, set(net.writes[op]) & mine
    done: dict[State, float] = {}
    for live, time_s in sorted(states.items(), key=lambda item: (item[1], sorted(item[0]))):
        if not reads <= live or writes & live:
            continue
        now = live | writes
        if sum(net.size[r] for r in now) > space:
            continue
        for k in range(len(now) + 1):
            for some in combinations(sorted(now), k):
                key = frozenset(some)
                done[key] = min(done.get(key, float("inf")), time_s + cost)
    return done


def _least(one: dict[State, float], other: dict[State, float]) -> dict[State, float]:
    return {s: min(one.get(s, float("inf")), other.get(s, float("inf"))) for s in (*one, *other)}


def least_peak(net: Net, low: int, high: int) -> int:
    """The smallest budget within which some schedule fits."""
    while low < high:
        middle = (low + high) // 2
        if least_time(net, middle) is None:
            low = middle + 1
        else:
            high = middle
    return low
