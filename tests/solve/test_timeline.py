"""A schedule that changes step by step is the schedule made from scratch."""

from __future__ import annotations

import random

import graphs
from hypothesis import given, settings
from hypothesis import strategies as st

from hiremate_gen.solve.build import whole
from hiremate_gen.solve.greedy import squeeze
from hiremate_gen.solve.net import Net, profile
from hiremate_gen.solve.takeback import _hopeless
from hiremate_gen.solve.timeline import timeline


def legal(net: Net) -> list[int]:
    stages = range(net.n_forward, net.n_ops)
    return [net.code(s, v) for s in stages for v in range(net.n_forward) if net.stage_for(s, v) == s]


def check(net: Net, rng: random.Random) -> None:
    line, codes = timeline(net), legal(net)
    for _ in range(30 if codes else 0):
        line.add(rng.sample(codes, min(len(codes), rng.randint(1, 4))))
        assert line.done() == net.prune(line.codes)
        if line.codes and rng.random() < 0.5:
            line.take_out(rng.choice(line.done()))
        done = line.done()
        assert done == net.prune(done)
        assert line.peaks.tolist() == profile(net, done).peaks
        if done:
            for code in line.take_out(rng.choice(done)):
                line.insert(code)
        again = timeline(net, done)
        assert (again.keys, again.touches, again.makes) == (line.keys, line.touches, line.makes)
        assert again.peaks.tolist() == line.peaks.tolist() and again.last.tolist() == line.last.tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100_000))
def test_any_odd_graph(seed: int) -> None:
    check(whole(*graphs.odd(seed))[0], random.Random(seed))


def test_larger_graphs() -> None:
    for graph, chain in (graphs.transformer(3), graphs.unet(3)):
        check(whole(graph, chain)[0], random.Random(1))


def test_a_copy_is_apart() -> None:
    net, _, _ = whole(*graphs.unet(2))
    line = timeline(net)
    line.add(random.Random(0).sample(legal(net), 10))
    before = line.peaks.tolist(), line.done()
    other = line.copy()
    other.add(legal(net)[::7])
    for code in other.done():
        other.take_out(code)
    assert (line.peaks.tolist(), line.done()) == before
    assert other.done() == () and other.peaks.tolist() == profile(net, ()).peaks


def hopeless(net: Net, rng: random.Random) -> int:
    """How many codes are said not to be worth a try; each of them is tried."""
    codes, top, found = legal(net), timeline(net).peak, 0
    for _ in range(10 if codes else 0):
        line = timeline(net)
        line.add(rng.sample(codes, min(len(codes), rng.randint(0, 3))))
        squeeze(line, net.base + int((top - net.base) * rng.uniform(0.5, 1)))
        for code in line.done():
            if _hopeless(line, code, line.peak):
                found += 1
                without = line.copy()
                without.take_out(code)
                assert without.peak > line.peak
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000))
def test_what_is_not_tried_does_not_fit(seed: int) -> None:
    hopeless(whole(*graphs.odd(seed))[0], random.Random(seed))


def test_much_is_not_tried() -> None:
    for graph, chain in (graphs.transformer(3), graphs.unet(3)):
        assert hopeless(whole(graph, chain)[0], random.Random(1)) > 50
