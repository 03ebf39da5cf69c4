"""The stages in their order: load, trace, graph, partition, solve, schedule, emit, verify."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hiremate_gen import emit as emission
from hiremate_gen.config import Options, ProfileOptions, Report, cache_folder
from hiremate_gen.errors import HiremateError, InfeasibleError, InternalError, UnsupportedError, UsageError
from hiremate_gen.graph import Costs, Origins, build, costs_for
from hiremate_gen.graph import profile as measure_ops
from hiremate_gen.ir import Chain, Graph, Plan, PlanFile, Schedule, dump_plan, read_plan, replay
from hiremate_gen.ir.text import show_chain, show_graph, show_plan, show_schedule
from hiremate_gen.load import Loaded, LoadRequest, load
from hiremate_gen.partition import partition
from hiremate_gen.schedule import schedule
from hiremate_gen.solve import keep_all, solve
from hiremate_gen.trace import TORCH, WAYS, Traced, refuse_recurrent, trace
from hiremate_gen.units import show_bytes
from hiremate_gen.verify import Verdict, compare, keep_evidence, room_bytes


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gives: the file's text (or that of the stage to dump), lines for people, the plan as JSON."""

    text: str
    summary: str = ""
    plan_json: str = ""


@dataclass(frozen=True)
class Job:
    """What is known before a plan is made."""

    options: Options
    report: Report
    loaded: Loaded
    traced: Traced
    costs: Costs
    graph: Graph
    chain: Chain
    given: PlanFile | None  # --plan
    budget: int
    eager_peak_bytes: int
    eager_time_s: float


@dataclass(frozen=True)
class Written:
    """A plan and the file that it makes."""

    plan: Plan
    schedule: Schedule
    facts: emission.Facts
    text: str
    plan_json: str


def generate(options: Options, report: Report) -> Result:
    """Run the compiler.  Raises HiremateError; writes nothing.

    No way of tracing serves every model: where the first fails, or what it gives is not what eager computes, the
    next is tried, and only when all have failed the model is refused.
    """
    report("loading")
    loaded = load(
        LoadRequest(path=options.model_path, model=options.model, inputs=options.inputs, device=options.device)
    )
    if options.dump == "load":
        return Result(loaded.text())
    given = None
    if options.plan is not None:
        text = Path(options.plan).read_text(encoding="utf-8")
        given = read_plan(text, where=options.plan, sha256=loaded.source.sha256)
    first: HiremateError | None = None
    for way in WAYS if given is None else (given.way,):
        try:
            return _by_way(options, report, loaded, given, way)
        except (UnsupportedError, InternalError) as error:
            first = first or error
    assert first is not None
    raise first


def _by_way(options: Options, report: Report, loaded: Loaded, given: PlanFile | None, way: str) -> Result:
    report("tracing")
    traced = _trace(loaded, way)
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
    job = Job(options, report, loaded, traced, costs, graph, chain, given, budget, eager.peak_bytes, eager.time_s)
    if options.dump == "solve":
        return Result(show_plan(graph, chain, _plan(job, 0)))
    if options.dump == "schedule":
        return Result(show_schedule(graph, chain, schedule(graph, _plan(job, 0))))
    return _checked(job)


def _checked(job: Job) -> Result:
    """Write, run against eager, and plan again with what was measured where the estimate was too low."""
    notes = [*job.loaded.notes, *job.costs.notes]
    reserve = job.given.reserve_bytes if job.given is not None else 0
    while True:
        written = _written(job, reserve)
        if not job.options.verify:
            break
        if 3 * job.eager_peak_bytes > room_bytes(job.options.device):
            notes.append("not run against eager: the step does not fit here beside what is in memory")
            break
        job.report("running it against eager")
        verdict = _verdict(job, written)
        if verdict.difference:
            refuse_recurrent(job.loaded.model)
            folder = keep_evidence(written.text, written.plan_json, verdict.difference)
            raise InternalError(
                f"what was generated is not what eager computes: {verdict.difference}",
                hint=f"nothing was written; the rejected file is in {folder}: please report it",
            )
        excess = verdict.peak_generated_bytes - written.facts.peak_bytes
        if excess <= 0:
            break
        notes.append(f"the step took {show_bytes(excess)} more than planned: counted, and planned again")
        reserve += excess
    return Result(written.text, _summary(tuple(notes), written), written.plan_json)


def _verdict(job: Job, written: Written) -> Verdict:
    def eager() -> tuple[Any, ...]:
        built = job.loaded.build_real()
        return built.model, built.args, built.kwargs

    def generated() -> tuple[Any, ...]:
        built = job.loaded.build_from(written.text)
        return built.model, built.args, built.kwargs

    with job.loaded.at_home():
        return compare(eager, generated, steps=2, eager_peak=False)


def _written(job: Job, reserve: int) -> Written:
    """Plan for the budget less `reserve` bytes that the estimates do not know of."""
    job.report("solving")
    plan = _plan(job, reserve)
    calls = schedule(job.graph, plan)
    job.report("writing")
    facts = emission.Facts(
        command=job.options.command,
        source_name=job.loaded.source.name,
        sha256=job.loaded.source.sha256,
        budget_bytes=job.budget,
        peak_bytes=calls.peak_bytes + reserve,
        eager_peak_bytes=job.eager_peak_bytes + reserve,
        eager_time_s=job.eager_time_s,
        lower_bound_s=plan.lower_bound_s,
        costs=job.options.costs,
        torch=TORCH,
    )
    traced = job.traced
    contract = emission.Contract(traced.fixed, traced.elements, traced.digest, traced.result_source, traced.unindexed)
    text = emission.emit(job.loaded.source, job.graph, job.chain, calls, contract, facts)
    plan_json = dump_plan(
        plan,
        job.chain,
        budget_bytes=job.budget,
        reserve_bytes=reserve,
        way=traced.way,
        sha256=job.loaded.source.sha256,
    )
    return Written(plan, calls, facts, text, plan_json)


def profile(options: ProfileOptions, report: Report) -> str:
    """Measure the ops of a model on the device; the text of a profile.  Raises HiremateError."""
    report("loading")
    loaded = load(
        LoadRequest(path=options.model_path, model=options.model, inputs=options.inputs, device=options.device)
    )
    report("tracing")
    traced = _trace(loaded, WAYS[0])
    tell = lambda done, total: report(f"measuring {done} of {total}")  # noqa: E731
    return measure_ops(traced.graph_module, options.device, tell).dumps()


def _trace(loaded: Loaded, way: str) -> Traced:
    with loaded.at_home():
        return trace(loaded.model, loaded.args, loaded.kwargs, loaded.shown, way)


def _graph(loaded: Loaded, traced: Traced, costs: Costs, device: str) -> Graph:
    origins = Origins(loaded.source, loaded.filename, loaded.source.name)
    origins.learn(traced.graph_module.graph)
    return build(
        traced.graph_module,
        origins=origins,
        costs=costs,
        leaf_constants=traced.leaf_constants,
        constants=traced.constants,
        input_paths=traced.input_paths,
        device=device,
    )


def _budget(options: Options, eager_peak_bytes: int) -> int:
    if options.budget is None:
        raise UsageError("the budget is missing", hint="pass --budget 6GiB, or --budget 60% of eager's peak")
    return int(options.budget * eager_peak_bytes) if isinstance(options.budget, float) else options.budget


def _plan(job: Job, reserve: int) -> Plan:
    budget = job.budget - reserve
    if job.given is not None:
        return _fitting(job.given.plan(job.graph, job.chain), job, reserve)
    try:
        cache = cache_folder() if job.options.cache else None
        limit_s = job.options.time_limit_s
        return solve(job.graph, job.chain, budget, time_limit_s=limit_s, cache=cache, report=job.report)
    except InfeasibleError as error:
        if not reserve:
            raise
        least = error.minimum_bytes + reserve
        message = (
            f"no plan fits {show_bytes(job.budget)}: the step took {show_bytes(reserve)} more than estimated, "
            f"and with that the smallest budget that works is {least} bytes ({show_bytes(least)})"
        )
        hint = f"give --budget {least} or more, or make the batch smaller"
        raise InfeasibleError(message, minimum_bytes=least, where=error.where, hint=hint) from error


def _fitting(plan: Plan, job: Job, reserve: int) -> Plan:
    """Raises InfeasibleError when a plan that was given needs more than the budget."""
    peak = replay(job.graph, plan).peak_bytes + reserve
    if peak > job.budget:
        message = f"the plan needs {peak} bytes ({show_bytes(peak)}), more than the budget of {show_bytes(job.budget)}"
        hint = f"give --budget {peak} or more, or leave out --plan to solve for this one"
        raise InfeasibleError(message, minimum_bytes=peak, where=job.options.plan or "", hint=hint)
    return plan


def _summary(notes: tuple[str, ...], written: Written) -> str:
    facts = written.facts
    lines = [f"note: {note}" for note in notes]
    lines.append(
        f"peak {show_bytes(facts.peak_bytes)} of {show_bytes(facts.budget_bytes)} "
        f"({facts.source_name}: {show_bytes(facts.eager_peak_bytes)}), "
        f"overhead {emission.overhead(written.schedule.time_s, facts)}"
    )
    return "\n".join(lines)
