"""The stages in their order: load, trace, graph, partition, solve, schedule, emit, verify."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import fx

from hiremate_gen import emit as emission
from hiremate_gen.config import Options, Report
from hiremate_gen.errors import UsageError
from hiremate_gen.graph import build
from hiremate_gen.graph.origins import Origins
from hiremate_gen.ir import Chain, Graph, Plan, Schedule, replay
from hiremate_gen.load import Loaded, LoadRequest, load
from hiremate_gen.partition import partition
from hiremate_gen.schedule import schedule
from hiremate_gen.solve import keep_all, solve
from hiremate_gen.trace import Traced, digest, result_source, trace, unset
from hiremate_gen.units import show_bytes


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gives: the file's text, lines for people, the plan as JSON."""

    text: str
    summary: str = ""
    plan_json: str = ""


def generate(options: Options, report: Report) -> Result:
    """Run the compiler.  Raises HiremateError; writes nothing."""
    report("loading")
    loaded = load(
        LoadRequest(path=options.model_path, model=options.model, inputs=options.inputs, device=options.device)
    )
    if options.dump == "load":
        return Result(loaded.text())
    report("tracing")
    with loaded.at_home():
        traced = trace(loaded.model, loaded.args, loaded.kwargs, _names(loaded))
    if options.dump == "trace":
        return Result(traced.graph_module.print_readable(print_output=False) + "\n")
    report("reading the graph")
    graph = _graph(loaded, traced, options)
    chain = partition(graph)
    eager = keep_all(graph, chain)
    base = replay(graph, eager)
    budget = _budget(options, base.peak_bytes)
    report("solving")
    plan = solve(graph, chain, budget, time_limit_s=options.time_limit_s, report=report)
    calls = schedule(graph, plan)
    facts = emission.Facts(
        command=options.command,
        source_name=loaded.source.name,
        sha256=loaded.source.sha256,
        budget_bytes=budget,
        eager_peak_bytes=base.peak_bytes,
        eager_time_s=base.time_s,
        lower_bound_s=plan.lower_bound_s,
        costs=options.costs,
        torch=".".join(torch.__version__.split(".")[:2]),
    )
    report("writing")
    text = emission.emit(loaded.source, graph, chain, calls, _contract(loaded, traced), facts)
    return Result(text, summary=_summary(calls, facts))


def _names(loaded: Loaded) -> tuple[str, ...]:
    assert loaded.source.planned is not None
    return loaded.source.planned.forward.names


def _graph(loaded: Loaded, traced: Traced, options: Options) -> Graph:
    origins = Origins(loaded.source, loaded.filename, loaded.source.name)
    origins.learn(traced.graph_module.graph)
    return build(
        traced.graph_module,
        origins=origins,
        cost=_cost(options),
        constants=tuple(None if leaf.is_tensor else repr(leaf.constant) for leaf in traced.leaves),
        input_paths=traced.input_paths,
        device=options.device,
    )


def _cost(options: Options) -> Callable[[fx.Node], tuple[float, int]]:
    return lambda node: (1.0, 0)


def _contract(loaded: Loaded, traced: Traced) -> emission.Contract:
    constants = [
        (path, repr(leaf))
        for path, leaf in zip(traced.input_paths, traced.input_leaves, strict=True)
        if not isinstance(leaf, torch.Tensor)
    ]
    elements, mark = digest(loaded.model)
    return emission.Contract(
        constants=(*constants, *unset(loaded.model, loaded.args, loaded.kwargs)),
        parameters=elements,
        digest=mark,
        result=lambda leaves: result_source(traced.structure, leaves),
    )


def _budget(options: Options, eager_peak: int) -> int:
    if options.budget is None:
        raise UsageError("the budget is missing", hint="pass --budget 6GiB, or --budget 60% of eager's peak")
    return int(options.budget * eager_peak) if isinstance(options.budget, float) else options.budget


def _summary(calls: Schedule, facts: emission.Facts) -> str:
    return (
        f"peak {show_bytes(calls.peak_bytes)} of {show_bytes(facts.budget_bytes)} "
        f"({facts.source_name}: {show_bytes(facts.eager_peak_bytes)}), "
        f"overhead {emission.overhead(calls.time_s, facts)}"
    )


__all__ = ["Chain", "Plan", "Result", "generate"]
