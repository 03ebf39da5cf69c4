"""What is said to live at a moment adds up to the bytes that the replay counts."""

from __future__ import annotations

import graphs
import pytest

from hiremate_gen.ir import Chain, Graph, Plan, replay
from hiremate_gen.report.live import residents
from hiremate_gen.solve import keep_all, minimum

CASES = {
    "transformer": graphs.transformer(1),
    "unet": graphs.unet(1),
    **{f"small {seed}": graphs.small(seed, 7) for seed in range(6)},
    **{f"odd {seed}": graphs.odd(seed) for seed in range(6)},  # views, in-place ops, random ones, several uses
}


def check(graph: Graph, chain: Chain, plan: Plan) -> None:
    run = replay(graph, plan)
    found = residents(graph, plan, run, range(len(run.moments)))
    assert list(found) == list(range(len(run.moments)))
    for at, moment in enumerate(run.moments):
        live, op = found[at], graph.op[moment.op]
        assert len(set(live)) == len(live) and set(graph.reads[moment.op]) <= set(live)
        made = sum(graph.bytes(r) for r in graph.writes[moment.op])
        taken = graph.bytes(moment.overwrites) if moment.overwrites is not None else 0
        total = graph.static_bytes + sum(map(graph.bytes, live)) + made - taken + op.workspace_bytes
        assert total == moment.peak_bytes, (at, moment)


@pytest.mark.parametrize("name", CASES)
def test_adds_up(name: str) -> None:
    graph, chain = CASES[name]
    check(graph, chain, keep_all(graph, chain))
    check(graph, chain, minimum(graph, chain))


def test_only_what_is_asked_for() -> None:
    graph, chain = CASES["transformer"]
    plan = keep_all(graph, chain)
    run = replay(graph, plan)
    everything = residents(graph, plan, run, range(len(run.moments)))
    assert residents(graph, plan, run, [7, 3, 7]) == {3: everything[3], 7: everything[7]}
    assert residents(graph, plan, run, []) == {}
