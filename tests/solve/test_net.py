"""The integer net agrees with the exact replay."""

from __future__ import annotations

import random

import graphs
import pytest

from hiremate_gen.ir import Chain, Graph, replay
from hiremate_gen.solve.build import to_plan, whole
from hiremate_gen.solve.net import profile

CASES = [graphs.transformer(2), graphs.unet(2), *(graphs.small(s) for s in range(6))]


@pytest.mark.parametrize("case", CASES)
def test_profile_is_the_replay(case: tuple[Graph, Chain]) -> None:
    graph, chain = case
    net, names, _ = whole(graph, chain)
    rng = random.Random(0)
    for _ in range(30):
        codes = []
        for stage in range(net.n_forward, net.n_ops):
            for op in range(net.n_forward):
                if rng.random() < 0.1 and net.stage_for(stage, op) == stage:
                    codes.append(net.code(stage, op))
        for some in (tuple(codes), net.prune(codes)):
            run = replay(graph, to_plan(chain, net, names, some, "test"))
            mine = profile(net, some)
            assert [names[s] for s in mine.steps] == [m.op for m in run.moments]
            assert mine.peaks == [m.peak_bytes for m in run.moments]
            assert sum(net.time_s) + net.time(some) == pytest.approx(run.time_s)


@pytest.mark.parametrize("case", CASES)
def test_pruning_only_helps(case: tuple[Graph, Chain]) -> None:
    graph, chain = case
    net, _, _ = whole(graph, chain)
    codes = [net.code(s, v) for s in range(net.n_forward, net.n_ops) for v in range(net.n_forward)]
    legal = [c for c in codes if net.stage_for(c // net.n_forward, c % net.n_forward) == c // net.n_forward]
    pruned = net.prune(legal)
    assert net.time(pruned) <= net.time(legal)
    assert profile(net, pruned).peak <= profile(net, tuple(legal)).peak
