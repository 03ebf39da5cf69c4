"""Blocks that do the same work run in few ways, at almost no cost."""

from __future__ import annotations

import graphs
import pytest

from hiremate_gen.ir import Chain, Plan, replay
from hiremate_gen.solve import keep_all, solve
from hiremate_gen.solve.build import whole
from hiremate_gen.solve.greedy import shrink
from hiremate_gen.solve.net import profile
from hiremate_gen.solve.timeline import timeline
from hiremate_gen.solve.unify import ALLOWED, twins, unify


def variants(plan: Plan, chain: Chain) -> int:
    """Backward functions of the layers: segments that differ although their blocks do the same."""
    found = set()
    for segment in plan.segments:
        block = chain.blocks[segment.block]
        if segment.phase == "backward" and block.kind == "Layer":
            place = {o: k for k, o in enumerate((*block.forward, *block.backward))}
            found.add(tuple(place[o] for o in segment.ops))
    return len(found)


@pytest.mark.parametrize("percent", [90, 75, 60, 45])
def test_a_deep_net_runs_in_few_ways(percent: int) -> None:
    graph, chain = graphs.transformer(16)
    plan = solve(graph, chain, replay(graph, keep_all(graph, chain)).peak_bytes * percent // 100)
    assert variants(plan, chain) <= 3


@pytest.mark.parametrize("percent", [90, 75, 60, 45])
def test_fewer_ways_cost_almost_nothing(percent: int) -> None:
    net, _, _ = whole(*graphs.transformer(12))
    budget = profile(net, ()).peak * percent // 100
    codes = shrink(net, (), budget)
    assert codes is not None
    limit_s = net.time(codes) + ALLOWED * sum(net.time_s)
    fewer = unify(net, codes, budget, limit_s)
    assert profile(net, fewer).peak <= budget and net.time(fewer) <= limit_s
    (kind,) = twins(net)
    ways = [{w.pattern for w in kind.ways(timeline(net, c)).values()} for c in (codes, fewer)]
    assert len(ways[1]) <= len(ways[0])


@pytest.mark.parametrize("percent", [90, 80, 70, 60, 50, 45])
@pytest.mark.parametrize("layers", [3, 5])
def test_fewer_ways_of_few_blocks_cost_nothing(layers: int, percent: int) -> None:
    """Peers take any number of ways: in nets this small none of them may be faster for that."""
    net, _, _ = whole(*graphs.transformer(layers))
    budget = profile(net, ()).peak * percent // 100
    codes = shrink(net, (), budget)
    assert codes is not None
    fewer = unify(net, codes, budget, float("inf"))
    assert profile(net, fewer).peak <= budget and net.time(fewer) <= net.time(codes)


def test_no_room_no_change() -> None:
    """Where every change costs more than is allowed the schedule stays."""
    net, _, _ = whole(*graphs.transformer(4))
    codes = shrink(net, (), profile(net, ()).peak * 7 // 10)
    assert codes is not None
    peak, time_s = profile(net, codes).peak, net.time(codes)
    same = unify(net, codes, peak, time_s)
    assert (profile(net, same).peak, net.time(same)) <= (peak, time_s)


def test_a_switch_there_and_back() -> None:
    net, _, _ = whole(*graphs.transformer(6))
    codes = shrink(net, (), profile(net, ()).peak // 2)
    assert codes is not None
    (kind,) = twins(net)
    line = timeline(net, codes)
    before, ways = line.peaks.tolist(), kind.ways(line)
    for block, way in ways.items():
        for other in ways.values():
            if kind.switch(line, block, way, other.pattern):
                assert line.peaks.tolist() == profile(net, line.done()).peaks
                now = type(way)(other.pattern, way.away)
                assert kind.switch(line, block, now, way.pattern)
            assert line.done() == codes and line.peaks.tolist() == before
