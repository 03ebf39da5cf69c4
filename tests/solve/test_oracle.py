"""Against the best schedule by brute force, on small graphs."""

from __future__ import annotations

import graphs
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hiremate_gen.ir import replay
from hiremate_gen.solve import minimum
from hiremate_gen.solve.bound import lower_bound
from hiremate_gen.solve.build import whole
from hiremate_gen.solve.exact import Effort
from hiremate_gen.solve.frontier import base
from hiremate_gen.solve.ladder import Ladder
from hiremate_gen.solve.milp import optimise, smallest
from hiremate_gen.solve.model import build
from hiremate_gen.solve.moments import sharpen
from hiremate_gen.solve.net import Net, profile

SEEDS = range(14)


def budgets(net: Net) -> list[int]:
    top = profile(net, ()).peak
    low = oracle.least_peak(net, 0, top)
    return sorted({low, (2 * low + top) // 3, (low + top) // 2, (low + 3 * top) // 4})


@pytest.mark.parametrize("seed", SEEDS)
def test_milp_is_the_optimum(seed: int) -> None:
    net, _, _ = whole(*graphs.small(seed))
    model = build(net)
    for budget in budgets(net):
        answer = optimise(model, budget, 1e9, gap=0.0, nodes=100_000, limit_s=60)
        assert answer.codes is not None
        assert profile(net, answer.codes).peak <= budget
        assert net.time(answer.codes) == pytest.approx(oracle.least_time(net, budget))


@pytest.mark.parametrize("seed", SEEDS)
def test_bound_below_optimum(seed: int) -> None:
    net, _, _ = whole(*graphs.small(seed, 6))
    for budget in budgets(net):
        best = oracle.least_time(net, budget)
        assert best is not None
        assert lower_bound(net, budget) <= best + 1e-9
        assert sharpen(net, budget, 10 * best + 1, 0.0, Effort(1, 60)) <= best + 1e-9


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 100_000))
def test_bound_below_optimum_of_any_odd_graph(seed: int) -> None:
    graph, chain = graphs.odd(seed)
    net, _, _ = whole(graphs.mark(graph, {o.name for o in graph.ops}, inplace=()), chain)
    if net.n_forward > 9:
        return
    top = profile(net, ()).peak
    for budget in (oracle.least_peak(net, 0, top), top * 9 // 10):
        best = oracle.least_time(net, budget)
        if best is not None:
            assert lower_bound(net, budget) <= best + 1e-9
            assert sharpen(net, budget, 10 * best + 1, 0.0, Effort(1, 60)) <= best + 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_bound_is_often_the_optimum(seed: int) -> None:
    net, _, _ = whole(*graphs.small(seed, 7))
    for budget in budgets(net)[1:]:
        best = oracle.least_time(net, budget)
        assert best is not None
        assert sharpen(net, budget, 10 * best + 1, 0.0, Effort(1, 60)) >= best * 0.9 - 1e-3


@pytest.mark.parametrize("seed", SEEDS)
def test_smallest_peak_is_the_smallest(seed: int) -> None:
    net, _, _ = whole(*graphs.small(seed))
    answer = smallest(build(net), profile(net, ()).peak, nodes=100_000, limit_s=60)
    peak = profile(net, answer.codes if answer.codes is not None else ()).peak
    assert peak == oracle.least_peak(net, 0, profile(net, ()).peak)


@pytest.mark.parametrize("seed", SEEDS)
def test_minimum_is_the_smallest(seed: int) -> None:
    graph, chain = graphs.small(seed)
    net, _, _ = whole(graph, chain)
    assert replay(graph, minimum(graph, chain)).peak_bytes == oracle.least_peak(net, 0, profile(net, ()).peak)


@pytest.mark.parametrize("seed", SEEDS[:5])
def test_frontier_is_the_optimum(seed: int) -> None:
    net, _, _ = whole(*graphs.small(seed))
    effort = Effort(2, float("inf"))
    ladder = Ladder(base(net, (), effort), effort)
    for budget in budgets(net):
        best = ladder.best(budget)
        assert best is not None
        assert best.time_s == pytest.approx(oracle.least_time(net, budget))
