"""One process for one job, so that its time and memory are its own: trace a model, or plan for some budgets.

    plans.py trace MODEL EXPR INPUTS-AS-JSON GRAPH
    plans.py plan GRAPH STRATEGY LIMIT-S BUDGETS-AS-JSON

The last line of the output is JSON.  A budget is bytes, a fraction of the peak of keeping all, or "minimum".
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import sys
import time
from pathlib import Path
from typing import Any

from hiremate_gen.errors import InfeasibleError
from hiremate_gen.ir import Chain, Graph, replay


def trace(path: str, expression: str, inputs: str, out: str) -> dict[str, Any]:
    """Everything up to the graph; written to `out`."""
    from hiremate_gen import pipeline
    from hiremate_gen.graph import costs_for
    from hiremate_gen.load import LoadRequest, load

    began = time.perf_counter()
    request = LoadRequest(path=path, model=expression or None, inputs=tuple(json.loads(inputs)), device="cpu")
    loaded = load(request)
    traced = pipeline._trace(loaded, pipeline.WAYS[0])
    graph = pipeline._graph(loaded, traced, costs_for("roofline", "cpu"), "cpu")
    Path(out).write_bytes(pickle.dumps(graph))
    return {"ops": len(graph.computes), "trace_s": round(time.perf_counter() - began, 1)}


def plan(path: str, strategy: str, limit: str, budgets: str) -> dict[str, Any]:
    """Plans for all budgets, the search for the first and the rest of it for the others."""
    graph: Graph = pickle.loads(Path(path).read_bytes())
    from hiremate_gen.partition import partition
    from hiremate_gen.solve import keep_all

    start = _clock()
    chain = partition(graph)
    eager = replay(graph, keep_all(graph, chain))
    found = []
    for asked in json.loads(budgets):
        found.append(_one(graph, chain, strategy, float(limit), asked, eager.peak_bytes, eager.time_s, start))
        start = _clock()
    return {"peak_bytes": eager.peak_bytes, "plans": found, "rss_bytes": _rss()}


def _one(
    graph: Graph, chain: Chain, strategy: str, limit: float, asked: Any, peak: int, eager_s: float,
    start: tuple[float, float],
) -> dict[str, Any]:  # fmt: skip
    from hiremate_gen.solve import plan

    budget = graph.static_bytes if asked == "minimum" else int(asked * peak) if isinstance(asked, float) else asked
    row: dict[str, Any] = {"budget_bytes": budget}
    try:
        made = plan(graph, chain, budget, strategy=strategy, time_limit_s=limit)
        run = replay(graph, made)
        assert run.peak_bytes <= budget and made.lower_bound_s is not None
        row |= {"peak_bytes": run.peak_bytes, "overhead": run.time_s / eager_s - 1, "status": made.status}
        row["bound"] = made.lower_bound_s / eager_s - 1
    except InfeasibleError as error:
        row["least_bytes"] = error.minimum_bytes
    wall, cpu = (now - then for now, then in zip(_clock(), start, strict=True))
    return row | {"wall_s": round(wall, 2), "cpu_s": round(cpu, 2)}


def _clock() -> tuple[float, float]:
    """Seconds of the wall, and of the processors, children included."""
    return time.perf_counter(), sum(os.times()[:4])


def _rss() -> int:
    """The most memory that this process had; of its children the largest counts, too."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return 1024 * sum(resource.getrusage(kind).ru_maxrss for kind in kinds)


if __name__ == "__main__":
    job = {"trace": trace, "plan": plan}[sys.argv[1]]
    print(json.dumps(job(*sys.argv[2:])))
