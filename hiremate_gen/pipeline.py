"""The stages in their order: load, trace, graph, partition, solve, schedule, emit, verify."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hiremate_gen import emit as emission
from hiremate_gen.config import Options, ProfileOptions, Report
from hiremate_gen.errors import UsageError
from hiremate_gen.graph import Costs, Origins, build, costs_for
from hiremate_gen.graph import profile as measure_ops
from hiremate_gen.ir import Chain, Graph, Plan, Schedule, dump_plan, load_plan, replay
from hiremate_gen.ir.text import show_chain, show_graph, show_plan, show_schedule
from hiremate_gen.load import Loaded, LoadRequest, load
from hiremate_gen.partition import partition
from hiremate_gen.schedule import schedule
from hiremate_gen.solve import keep_all, solve
from hiremate_gen.trace import TORCH, Traced, trace
from hiremate_gen.units import show_bytes


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gives: the file's text (or that of the stage to dump), lines for people, the plan as JSON."""

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
        traced = _trace(loaded)
    if options.dump == "trace":
        return Result(traced.text())
    report("reading the graph")
    costs = costs_for(options.costs, options.device)
    graph = _graph(loaded, traced, costs, options.device)
    if options.dump == "graph":
        return Result(show_graph(graph))
    chain = partition(graph)
    if options.dump == "partition":
        return Result(show_chain(chain))
    eager = replay(graph, keep_all(graph, chain))
    budget = _budget(options, eager.peak_bytes)
    report("solving")
    plan = _plan(options, loaded, graph, chain, budget, report)
    if options.dump == "solve":
        return Result(show_plan(graph, chain, plan))
    calls = schedule(graph, plan)
    if options.dump == "schedule":
        return Result(show_schedule(graph, chain, calls))
    report("writing")
    facts = emission.Facts(
        command=options.command,
        source_name=loaded.source.name,
        sha256=loaded.source.sha256,
        budget_bytes=budget,
        eager_peak_bytes=eager.peak_bytes,
        eager_time_s=eager.time_s,
        lower_bound_s=plan.lower_bound_s,
        costs=options.costs,
        torch=TORCH,
    )
    contract = emission.Contract(traced.fixed, traced.elements, traced.digest, traced.result_source)
    text = emission.emit(loaded.source, graph, chain, calls, contract, facts)
    plan_json = dump_plan(plan, chain, budget_bytes=budget, sha256=loaded.source.sha256)
    return Result(text, _summary((*loaded.notes, *costs.notes), calls, facts), plan_json)


def profile(options: ProfileOptions, report: Report) -> str:
    """Measure the ops of a model on the device; the text of a profile.  Raises HiremateError."""
    report("loading")
    loaded = load(
        LoadRequest(path=options.model_path, model=options.model, inputs=options.inputs, device=options.device)
    )
    report("tracing")
    with loaded.at_home():
        traced = _trace(loaded)
    tell = lambda done, total: report(f"measuring {done} of {total}")  # noqa: E731
    return measure_ops(traced.graph_module, options.device, tell).dumps()


def _trace(loaded: Loaded) -> Traced:
    assert loaded.source.planned is not None
    return trace(loaded.model, loaded.args, loaded.kwargs, loaded.source.planned.forward.names, loaded.shown)


def _graph(loaded: Loaded, traced: Traced, costs: Costs, device: str) -> Graph:
    origins = Origins(loaded.source, loaded.filename, loaded.source.name)
    origins.learn(traced.graph_module.graph)
    return build(
        traced.graph_module,
        origins=origins,
        costs=costs,
        constants=traced.leaf_constants,
        input_paths=traced.input_paths,
        device=device,
    )


def _budget(options: Options, eager_peak_bytes: int) -> int:
    if options.budget is None:
        raise UsageError("the budget is missing", hint="pass --budget 6GiB, or --budget 60% of eager's peak")
    return int(options.budget * eager_peak_bytes) if isinstance(options.budget, float) else options.budget


def _plan(options: Options, loaded: Loaded, graph: Graph, chain: Chain, budget: int, report: Report) -> Plan:
    if options.plan is None:
        return solve(graph, chain, budget, time_limit_s=options.time_limit_s, report=report)
    text = Path(options.plan).read_text(encoding="utf-8")
    return load_plan(text, graph, chain, where=options.plan, sha256=loaded.source.sha256)


def _summary(notes: tuple[str, ...], calls: Schedule, facts: emission.Facts) -> str:
    lines = [f"note: {note}" for note in notes]
    lines.append(
        f"peak {show_bytes(calls.peak_bytes)} of {show_bytes(facts.budget_bytes)} "
        f"({facts.source_name}: {show_bytes(facts.eager_peak_bytes)}), "
        f"overhead {emission.overhead(calls.time_s, facts)}"
    )
    return "\n".join(lines)
