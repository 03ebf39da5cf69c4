"""Properties of `solve`: feasible, monotone, exact at the top, honest at the bottom, the same every time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import graphs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hiremate_gen.errors import InfeasibleError
from hiremate_gen.ir import Chain, Graph, Plan, replay
from hiremate_gen.solve import keep_all, minimum, solve
from hiremate_gen.solve.bound import lower_bound
from hiremate_gen.solve.build import whole
from hiremate_gen.solve.net import profile
from hiremate_gen.solve.search import search

CASES = {"transformer": graphs.transformer(2), "unet": graphs.unet(1), "small": graphs.small(3, 7)}


def check_segments(graph: Graph, chain: Chain, plan: Plan) -> None:
    """What `Plan` promises about its segments."""
    n = len(chain.blocks)
    assert [(s.phase, s.block, s.ops) for s in plan.segments[:n]] == [
        ("forward", k, b.forward) for k, b in enumerate(chain.blocks)
    ]
    block = n - 1
    for segment in plan.segments[n:]:
        forward, backward = set(chain.blocks[segment.block].forward), set(chain.blocks[segment.block].backward)
        if segment.phase == "recompute":
            assert segment.ops and set(segment.ops) <= forward and segment.block <= block
        else:
            assert segment.phase == "backward" and segment.block == block
            assert tuple(o for o in segment.ops if o in backward) == chain.blocks[block].backward
            assert {o for o in segment.ops if o not in backward} <= forward
            block -= 1
    assert block == -1
    again = [o for s in plan.segments[n:] for o in s.ops if not graph.op[o].backward]
    assert all(graph.op[o].recomputable for o in again)


@pytest.mark.parametrize("name", CASES)
def test_sweep(name: str) -> None:
    graph, chain = CASES[name]
    eager, least = replay(graph, keep_all(graph, chain)), replay(graph, minimum(graph, chain))
    before = None
    for k in range(21):
        budget = least.peak_bytes + (eager.peak_bytes - least.peak_bytes) * k // 20
        plan = solve(graph, chain, budget)
        check_segments(graph, chain, plan)
        run = replay(graph, plan)
        assert run.peak_bytes <= budget
        assert before is None or run.time_s <= before + 1e-9
        assert plan.lower_bound_s is not None and plan.lower_bound_s <= run.time_s + 1e-9
        before = run.time_s
    assert before == eager.time_s


@pytest.mark.parametrize("name", CASES)
def test_nothing_recomputed_when_all_fits(name: str) -> None:
    graph, chain = CASES[name]
    eager = keep_all(graph, chain)
    check_segments(graph, chain, eager)
    peak = replay(graph, eager).peak_bytes
    assert [s.ops for s in solve(graph, chain, peak).segments] == [s.ops for s in eager.segments]
    if replay(graph, minimum(graph, chain)).peak_bytes < peak:
        assert replay(graph, solve(graph, chain, peak - 1)).peak_bytes < peak


@pytest.mark.parametrize("name", CASES)
def test_infeasible_names_the_minimum(name: str) -> None:
    graph, chain = CASES[name]
    with pytest.raises(InfeasibleError) as caught:
        solve(graph, chain, graph.static_bytes)
    least = caught.value.minimum_bytes
    assert least == replay(graph, minimum(graph, chain)).peak_bytes
    assert str(least) in str(caught.value)
    assert replay(graph, solve(graph, chain, least)).peak_bytes == least
    with pytest.raises(InfeasibleError):
        solve(graph, chain, least - 1)


def test_what_runs_once_runs_once() -> None:
    graph, chain = graphs.transformer(1)
    once = {o.name for o in graph.ops if o.name.endswith(("scores", "gelu"))}
    graph = graphs.mark(graph, once, recomputable=False)
    peak = replay(graph, keep_all(graph, chain)).peak_bytes
    check_segments(graph, chain, minimum(graph, chain))
    check_segments(graph, chain, solve(graph, chain, int(0.95 * peak)))


def test_transformer_close_to_the_bound() -> None:
    graph, chain = CASES["transformer"]
    net, _, _ = whole(graph, chain)
    eager = replay(graph, keep_all(graph, chain))
    for percent in (90, 80, 70, 60):
        budget = eager.peak_bytes * percent // 100
        run = replay(graph, solve(graph, chain, budget))
        assert run.time_s <= (eager.time_s + lower_bound(net, budget)) * 1.02


@pytest.mark.parametrize("percent", [80, 50, 35])
def test_no_separators_and_close_to_the_bound(percent: int) -> None:
    graph, chain = graphs.unet(6, 65536)
    plan = solve(graph, chain, replay(graph, keep_all(graph, chain)).peak_bytes * percent // 100)
    assert plan.lower_bound_s is not None
    assert replay(graph, plan).time_s <= plan.lower_bound_s * 1.01


PRINT = """
import sys
import time
sys.path.insert(0, {here!r})
import graphs
from hiremate_gen.ir import replay
from hiremate_gen.solve import keep_all, minimum, solve
for graph, chain in (graphs.transformer(1), graphs.small(5, 7)):
    print(minimum(graph, chain))
    print(solve(graph, chain, int(0.95 * replay(graph, keep_all(graph, chain)).peak_bytes)))
"""


def test_deterministic() -> None:
    here = Path(__file__).parent
    texts = set()
    for seed in ("0", "12345"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(here.parents[1])}
        done = subprocess.run(
            [sys.executable, "-c", PRINT.format(here=str(here))], env=env, capture_output=True, text=True, check=True
        )
        texts.add(done.stdout)
    assert len(texts) == 1 and "HiGHS" not in texts.pop()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 100_000))
def test_any_odd_graph(seed: int) -> None:
    graph, chain = graphs.odd(seed)
    net, _, _ = whole(graph, chain)
    eager = replay(graph, keep_all(graph, chain))
    assert profile(net, ()).peak == eager.peak_bytes
    least = replay(graph, minimum(graph, chain)).peak_bytes
    before = None
    for part in (0, 1, 2, 3):
        plan = solve(graph, chain, least + (eager.peak_bytes - least) * part // 3)
        check_segments(graph, chain, plan)
        run = replay(graph, plan)
        assert run.peak_bytes <= least + (eager.peak_bytes - least) * part // 3
        assert plan.lower_bound_s is not None and plan.lower_bound_s <= run.time_s + 1e-9
        assert before is None or run.time_s <= before + 1e-9
        before = run.time_s


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 7))
def test_any_small_graph(seed: int, n: int) -> None:
    graph, chain = graphs.small(seed, n)
    eager = replay(graph, keep_all(graph, chain)).peak_bytes
    least = replay(graph, minimum(graph, chain)).peak_bytes
    for budget in {least, (least + eager) // 2}:
        plan = solve(graph, chain, budget)
        check_segments(graph, chain, plan)
        assert replay(graph, plan).peak_bytes <= budget


def test_nothing_is_imported_for_a_budget_that_holds_all() -> None:
    here = Path(__file__).parent
    code = f"""
import sys
import time
sys.path.insert(0, {str(here)!r})
import graphs
from hiremate_gen.ir import replay
from hiremate_gen.solve import keep_all, solve
graph, chain = graphs.transformer(2)
solve(graph, chain, replay(graph, keep_all(graph, chain)).peak_bytes)
assert not {{"cvxpy", "scipy", "highspy"}} & set(sys.modules)
"""
    env = {**os.environ, "PYTHONPATH": str(here.parents[1])}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)


def _plans(graph: Graph, chain: Chain, jobs: int) -> list[Plan]:
    search.cache_clear()
    peak = replay(graph, keep_all(graph, chain)).peak_bytes
    return [
        minimum(graph, chain, jobs=jobs),
        *(solve(graph, chain, peak * percent // 100, jobs=jobs) for percent in (55, 85)),
    ]


def test_same_plan_whatever_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, chain = graphs.transformer(3)
    plans = _plans(graph, chain, 2)
    clock, wall = time.process_time, time.monotonic
    monkeypatch.setattr(time, "process_time", lambda: 5 * clock())
    monkeypatch.setattr(time, "monotonic", lambda: 5 * wall())
    assert _plans(graph, chain, 1) == plans
    assert _plans(graph, chain, 4) == plans
    assert not any("time limit" in p.status for p in plans)


def test_same_plan_whatever_was_asked_before() -> None:
    graph, chain = graphs.unet(1)
    peak = replay(graph, keep_all(graph, chain)).peak_bytes
    budgets = [peak * percent // 100 for percent in (95, 85, 90)]
    alone = []
    for budget in budgets:
        search.cache_clear()
        alone.append(solve(graph, chain, budget))
    search.cache_clear()
    assert [solve(graph, chain, budget) for budget in reversed(budgets)] == alone[::-1]


def test_time_limit_still_answers() -> None:
    graph, chain = graphs.transformer(2)
    peak = replay(graph, keep_all(graph, chain)).peak_bytes
    search.cache_clear()
    plan = solve(graph, chain, peak * 7 // 10, time_limit_s=1e-9)
    assert replay(graph, plan).peak_bytes <= peak * 7 // 10
    assert "time limit" in plan.status


@pytest.mark.filterwarnings("error")
def test_no_warnings(capfd: pytest.CaptureFixture[str]) -> None:
    graph, chain = graphs.unet(1)
    peak = replay(graph, keep_all(graph, chain)).peak_bytes
    search.cache_clear()
    solve(graph, chain, peak * 9 // 10)
    assert capfd.readouterr() == ("", "")
