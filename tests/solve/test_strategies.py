"""The methods of the literature: schedules like any other, each what its paper says, none better than the optimum."""

from __future__ import annotations

import graphs
import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from test_solve import check_segments

from hiremate_gen.config import STRATEGIES
from hiremate_gen.errors import InfeasibleError
from hiremate_gen.ir import Chain, Graph, replay
from hiremate_gen.solve import keep_all, plan
from hiremate_gen.solve.bound import lower_bound
from hiremate_gen.solve.build import whole
from hiremate_gen.solve.milp import _cost, _rows
from hiremate_gen.solve.model import Model, build
from hiremate_gen.solve.net import profile
from hiremate_gen.solve.strategies.dtr import _facts, _Run, evict
from hiremate_gen.solve.strategies.methods import METHODS
from hiremate_gen.solve.strategies.moments import tightened
from hiremate_gen.solve.strategies.problem import problem
from hiremate_gen.solve.strategies.sqrt import segmented

PEERS = sorted(METHODS)
QUICK = [name for name in PEERS if name != "checkmate"]  # whose work does not depend on the clock
CHAIN = graphs.transformer(4)


def test_names() -> None:
    assert {*METHODS, "hiremate"} == set(STRATEGIES)


@pytest.mark.parametrize("seed", range(8))
def test_checkmate_is_the_optimum(seed: int) -> None:
    """Equal to brute force; the bound below it; no method, ours included, is better."""
    graph, chain = graphs.small(seed)
    given_step = problem(graph, chain, 60, 1)
    net, step_s = given_step.net, sum(given_step.net.time_s)
    top = profile(net, ()).peak
    low = oracle.least_peak(net, 0, top)
    for budget in sorted({low - 1, low, (2 * low + top) // 3, (low + top) // 2, (low + 3 * top) // 4}):
        best = oracle.least_time(net, budget)
        found = METHODS["checkmate"](given_step, budget)
        assert found.point.peak == profile(net, found.point.codes).peak
        if best is None:
            assert found.point.peak == low
            assert all(METHODS[name](given_step, budget).point.peak >= low for name in PEERS)
            continue
        assert found.point.peak <= budget and found.status in ("optimal", "")
        assert found.point.time_s == pytest.approx(best)
        assert found.least_s <= best + 1e-9
        for name in STRATEGIES:
            try:
                run = replay(graph, plan(graph, chain, budget, strategy=name))
            except InfeasibleError:
                assert name not in ("checkmate", "hiremate")
                continue
            assert run.time_s >= step_s + best - 1e-9
            if name == "hiremate":
                assert run.time_s <= (step_s + best) * 1.005


@pytest.mark.parametrize("name", QUICK)
def test_sweep(name: str) -> None:
    """Within the budget, monotone, complete down to the minimum that the error names, the same every time."""
    graph, chain = CHAIN
    eager = replay(graph, keep_all(graph, chain))
    with pytest.raises(InfeasibleError, match=f"strategy {name}") as caught:
        plan(graph, chain, graph.static_bytes, strategy=name)
    least, before = caught.value.minimum_bytes, None
    for k in range(11):
        budget = least + (eager.peak_bytes - least) * k // 10
        made = plan(graph, chain, budget, strategy=name)
        assert made == plan(graph, chain, budget, strategy=name, jobs=1)
        assert made.strategy == name
        check_segments(graph, chain, made)
        run = replay(graph, made)
        assert run.peak_bytes <= budget
        assert before is None or run.time_s <= before
        assert made.lower_bound_s is not None and made.lower_bound_s <= run.time_s + 1e-9
        before = run.time_s
    assert before == eager.time_s
    with pytest.raises(InfeasibleError):
        plan(graph, chain, least - 1, strategy=name)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000))
def test_any_graph(seed: int) -> None:
    graph, chain = graphs.odd(seed)
    eager = replay(graph, keep_all(graph, chain))
    for name in PEERS:
        for percent in (100, 80):
            try:
                made = plan(graph, chain, eager.peak_bytes * percent // 100, strategy=name, time_limit_s=5)
            except InfeasibleError as error:
                assert percent < 100 and error.minimum_bytes > eager.peak_bytes * percent // 100
                continue
            check_segments(graph, chain, made)
            assert replay(graph, made).peak_bytes <= eager.peak_bytes * percent // 100


def test_none_keeps_all() -> None:
    graph, chain = CHAIN
    peak = replay(graph, keep_all(graph, chain)).peak_bytes
    assert plan(graph, chain, peak, strategy="none").segments == keep_all(graph, chain).segments
    with pytest.raises(InfeasibleError) as caught:
        plan(graph, chain, peak - 1, strategy="none")
    assert caught.value.minimum_bytes == peak and str(peak) in str(caught.value)


def _again(graph: Graph, chain: Chain, name: str, percent: int) -> dict[str, int]:
    """Op -> how often it runs again."""
    peak = replay(graph, keep_all(graph, chain)).peak_bytes
    made = plan(graph, chain, peak * percent // 100, strategy=name)
    ops = list(made.ops())
    return {o.name: ops.count(o.name) - 1 for o in graph.ops if not o.backward}


def test_sqrt_runs_a_segment_once_more() -> None:
    """Two segments of three blocks: the first runs again before its backward, all but what it hands on."""
    graph, chain = CHAIN
    net, names, _ = whole(graph, chain)
    starts = [next(v for v in range(net.n_forward) if net.block[v] == b) for b in (0, 3)]
    codes = segmented(net, tuple(starts))
    assert {code // net.n_forward for code in codes} == {names.index("b_l1_proj2_w")}
    again = {names[code % net.n_forward] for code in codes}
    assert {"f_l0_qkv", "f_l1_gelu", "f_l0_out"} <= again and not again & {"f_l1_out", "f_l2_qkv"}
    assert set(_again(graph, chain, "sqrt", 60).values()) == {0, 1}


def test_sqrt_cuts_between_ops_where_there_is_one_block() -> None:
    graph, chain = graphs.unet(2)
    assert max(_again(graph, chain, "sqrt", 90).values()) == 1


def test_rotor_is_no_worse_than_sqrt() -> None:
    """Its space holds every choice of segments."""
    graph, chain = CHAIN
    peak = replay(graph, keep_all(graph, chain)).peak_bytes
    for percent in (95, 80, 70, 60, 55):
        times = [replay(graph, plan(graph, chain, peak * percent // 100, strategy=s)).time_s for s in ("rotor", "sqrt")]
        assert times[0] <= times[1]


def test_rotor_takes_whole_blocks() -> None:
    """What runs again of a block is all that its backward reads, and what that needs."""
    graph, chain = CHAIN
    net, names, _ = whole(graph, chain)
    again = _again(graph, chain, "rotor", 60)
    read = {r for o in range(net.n_forward, net.n_ops) for r in net.reads[o]}
    needed = {names[v] for v in range(net.n_forward) if read & set(net.writes[v])}
    for block in chain.blocks[1:-1]:
        some = {o for o in block.forward if again[o] and o in needed}
        assert some in (set(), {o for o in block.forward if o in needed and not o.endswith("_out")}), block.name


def test_rockmate_is_no_worse_than_rotor() -> None:
    graph, chain = CHAIN
    peak = replay(graph, keep_all(graph, chain)).peak_bytes
    for percent in (90, 70, 60):
        times = [
            replay(graph, plan(graph, chain, peak * percent // 100, strategy=s)).time_s for s in ("rockmate", "rotor")
        ]
        assert times[0] <= times[1]


def test_dtr_evicts_the_least_score() -> None:
    """h_DTR by hand, at the loss of a small transformer with all that backward needs live."""
    net, names, roots = whole(*graphs.transformer(1))
    facts = _facts(net)
    run = _Run(facts, 1 << 60)
    for op in range(net.n_forward):
        run.step(op)
    run.now = net.n_forward
    number = {name: k for k, name in enumerate(roots)}
    gone = number["l0_scores"]
    assert gone not in run.live  # no backward op reads it
    qkv, probs = number["l0_qkv"], number["l0_probs"]
    seconds = dict(zip(names, net.time_s, strict=True))
    assert run._neighbourhood_s(probs) == seconds["f_l0_probs"] + seconds["f_l0_scores"]
    assert run._neighbourhood_s(qkv) == seconds["f_l0_qkv"]
    run._drop(qkv)
    assert run._neighbourhood_s(probs) == sum(seconds[f"f_l0_{n}"] for n in ("probs", "scores", "qkv"))
    scores = {r: run._neighbourhood_s(r) / net.size[r] / max(run.clock_s - run.live[r], 1e-9) for r in run.live}
    assert run._victim({number["logits"]}) == min((s, r) for r, s in scores.items() if r != number["logits"])[1]


def test_dtr_keeps_its_limit() -> None:
    net, _, _ = whole(*CHAIN)
    top, facts = profile(net, ()).peak, _facts(net)
    for percent in (90, 75, 60):
        codes = evict(facts, top * percent // 100)
        assert codes and profile(net, codes).peak <= top * percent // 100


def _relaxed(model: Model, budget: int) -> float:
    """Seconds of the MILP's relaxation."""
    cost, scale = _cost(model)
    cost = np.where(cost > 0, cost - 1e-7, cost)
    matrix, right, _ = _rows(model, budget)
    answer = linprog(cost, A_ub=matrix, b_ub=right, bounds=(0, 1), method="highs")
    assert answer.status == 0
    return float(answer.fun) * scale


@pytest.mark.parametrize("case", ["transformer", "unet"])
def test_moments_tighten_the_relaxation(case: str) -> None:
    graph, chain = graphs.transformer(2) if case == "transformer" else graphs.unet(1)
    net, _, _ = whole(graph, chain)
    budget = profile(net, ()).peak * 65 // 100
    model = build(net)
    loose, tight, bound = _relaxed(model, budget), _relaxed(tightened(model), budget), lower_bound(net, budget)
    assert tight >= max(loose, bound) * (1 - 1e-4)
    assert case != "transformer" or loose < 0.9 * bound


def test_checkmate_says_how_far_it_came() -> None:
    graph, chain = graphs.transformer(3)
    peak = replay(graph, keep_all(graph, chain)).peak_bytes
    made = plan(graph, chain, peak * 6 // 10, strategy="checkmate", time_limit_s=3)
    assert "stopped after 3 s, gap" in made.status or made.status == "optimal"
    assert replay(graph, made).peak_bytes <= peak * 6 // 10
