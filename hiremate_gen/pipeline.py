"""The stages in their order: load, trace, graph, partition, solve, schedule, emit, verify."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from hiremate_gen import emit as emission
from hiremate_gen import report as reporting
from hiremate_gen import seal
from hiremate_gen.config import STRATEGY, Options, ProfileOptions, Report
from hiremate_gen.errors import HiremateError, InfeasibleError, InternalError, UnsupportedError, UsageError
from hiremate_gen.graph import Costs, Origins, build, costs_for
from hiremate_gen.graph import profile as measure_ops
from hiremate_gen.ir import Chain, Graph, Plan, PlanFile, Schedule, dump_plan, read_plan, replay
from hiremate_gen.ir.decode import decode_data
from hiremate_gen.ir.table import Table
from hiremate_gen.ir.text import show_chain, show_graph, show_plan, show_schedule
from hiremate_gen.load import Loaded, LoadRequest, load
from hiremate_gen.partition import partition
from hiremate_gen.schedule import schedule
from hiremate_gen.solve import keep_all, minimum
from hiremate_gen.solve import plan as solve
from hiremate_gen.trace import TORCH, WAYS, Traced, Values, plain, refuse_known, trace
from hiremate_gen.units import show_bytes
from hiremate_gen.verify import Verdict, compare, keep_evidence, room_bytes

TOLD = 0.01  # of eager's peak: an estimate that was short by less is counted without a word
SWEPT = 16  # parts of the range of budgets that --sweep looks at


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gives: the file's text (or that of the stage to dump), lines for people, the plan as JSON, reports."""

    text: str
    summary: str = ""
    plan_json: str = ""
    tables: tuple[Table, ...] = ()  # --explain, --sweep
    page: str = ""  # --report


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
    imports: tuple[tuple[str, str], ...]  # files that model.py imports, with their digests
    eager_peak_bytes: int
    eager_time_s: float

    def budget_bytes(self, reserve: int) -> int:
        """A share is one of eager's peak, `reserve` included: bytes that the estimates do not know of."""
        budget = self.options.budget
        if budget is None:
            raise UsageError("the budget is missing", hint="pass --budget 6GiB, or --budget 60% of eager's peak")
        return int(budget * (self.eager_peak_bytes + reserve)) if isinstance(budget, float) else budget


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
        given = read_plan(decode_data(options.plan), where=options.plan, sha256=loaded.source.sha256)
    first: HiremateError | None = None
    fresh = plain(loaded.model)
    for way in WAYS if given is None else (given.way,):
        try:
            return _by_way(options, report, loaded, given, way, fresh)
        except (UnsupportedError, InternalError) as error:
            first = first or error
    assert first is not None
    raise first


def _by_way(
    options: Options, report: Report, loaded: Loaded, given: PlanFile | None, way: str, fresh: Values
) -> Result:
    report("tracing")
    traced = _trace(loaded, way, fresh)
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
    known = (graph, chain, given, loaded.imports(), eager.peak_bytes, eager.time_s)
    job = Job(options, report, loaded, traced, costs, *known)
    if options.sweep and options.budget is None:
        return Result("", tables=(reporting.sweep_table(loaded.source.name, _sweep(job, 0)),))
    if options.dump == "solve":
        return Result(show_plan(graph, chain, _plan(job, 0)))
    if options.dump == "schedule":
        return Result(show_schedule(graph, chain, schedule(graph, chain, _plan(job, 0))))
    return _checked(job)


def _checked(job: Job) -> Result:
    """Write, run against eager, and plan again with what was measured where the estimate was too low."""
    notes = [*job.loaded.notes, *job.costs.notes]
    reserve = job.given.reserve_bytes if job.given is not None else 0
    again = 0  # of it, what this run found
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
            if verdict.unsteady:
                raise UnsupportedError(
                    f"{job.loaded.source.name} itself does not compute the same twice: {verdict.unsteady}",
                    hint="draw random numbers from torch alone, and keep what changes from step to step in buffers",
                )
            if verdict.changes and not verdict.difference.startswith("step 1"):
                raise UnsupportedError(
                    f"forward changes `{verdict.changes}`, and later steps depend on it: {verdict.difference}",
                    hint="keep what changes from step to step in buffers",
                )
            refuse_known(job.loaded.model, job.options.model_path, job.loaded.source.text)
            folder = keep_evidence(written.text, written.plan_json, verdict.difference)
            raise InternalError(
                f"what was generated is not what eager computes: {verdict.difference}",
                hint=f"nothing was written; the rejected file is in {folder}: please report it",
            )
        excess = verdict.peak_generated_bytes - written.facts.peak_bytes
        if excess <= 0:
            if verdict.unsteady:
                notes.append(_unsteady_note(job, verdict.unsteady))
            break
        reserve += excess
        again += excess
    if again >= TOLD * job.eager_peak_bytes:
        notes.append(f"the step took {show_bytes(again)} more than estimated: counted, and planned again")
    return Result(written.text, _summary(tuple(notes), written), written.plan_json, *_reports(job, written, reserve))


def _unsteady_note(job: Job, unsteady: str) -> str:
    return (
        f"{job.loaded.source.name} itself does not compute the same twice ({unsteady}): "
        "the two were compared under torch.use_deterministic_algorithms, and are equal"
    )


def _reports(job: Job, written: Written, reserve: int) -> tuple[tuple[Table, ...], str]:
    """What --explain and --sweep print, and the page of --report."""
    options = job.options
    if not (options.explain or options.sweep or options.report):
        return (), ""
    sweep = _sweep(job, reserve) if options.sweep else ()
    job.report("reporting")
    source = job.loaded.source
    subject = reporting.Subject(
        source_name=source.name,
        command=options.command,
        graph=job.graph,
        chain=job.chain,
        plan=written.plan,
        schedule=written.schedule,
        eager=keep_all(job.graph, job.chain),
        budget_bytes=job.budget_bytes(reserve),
        reserve_bytes=reserve,
        name=emission.labels(source, job.graph, job.chain, written.schedule),
        device=f"{options.device}, torch {TORCH}, costs {options.costs}",
    )
    tables = reporting.explain(subject) if options.explain else ()
    tables += (reporting.sweep_table(source.name, sweep),) if options.sweep else ()
    return tables, reporting.page(subject, sweep) if options.report else ""


def _sweep(job: Job, reserve: int) -> tuple[reporting.Budget, ...]:
    """Plans for budgets from the smallest that works to the peak of a step that keeps everything.

    They part the range in sixteenths: the solver halves it, so the plans share most of its work.
    """
    job.report("sweeping: the smallest budget")
    graph, chain, options, limit_s = job.graph, job.chain, job.options, job.options.time_limit_s
    least = replay(graph, minimum(graph, chain, time_limit_s=limit_s)).peak_bytes
    rows = []
    for k in range(SWEPT + 1) if job.eager_peak_bytes > least else [SWEPT]:
        job.report(f"sweeping: budget {k + 1} of {SWEPT + 1}")
        budget = least + (job.eager_peak_bytes - least) * k // SWEPT
        try:
            plan = solve(
                graph, chain, budget, strategy=options.strategy, time_limit_s=limit_s, cache=options.cache_folder
            )
        except InfeasibleError:
            continue  # another strategy than ours may have no plan so small
        run, bound_s = replay(graph, plan), plan.lower_bound_s
        costs = (run.time_s / job.eager_time_s - 1, None if bound_s is None else bound_s / job.eager_time_s - 1)
        rows.append(reporting.Budget(budget + reserve, run.peak_bytes + reserve, *costs))
    return tuple(rows)


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
    calls = schedule(job.graph, job.chain, plan)
    job.report("writing")
    facts = emission.Facts(
        command=job.options.command,
        source_name=job.loaded.source.name,
        sha256=job.loaded.source.sha256,
        budget_bytes=job.budget_bytes(reserve),
        peak_bytes=calls.peak_bytes + reserve,
        eager_peak_bytes=job.eager_peak_bytes + reserve,
        eager_time_s=job.eager_time_s,
        lower_bound_s=plan.lower_bound_s,
        strategy="" if plan.strategy in (STRATEGY, "none") else f"{plan.strategy}: {plan.status}",
        costs=job.options.costs,
        torch=TORCH,
        imports=job.imports,
        seal=seal.OPEN,
    )
    traced = job.traced
    returns = (traced.result_source, traced.leaf_paths)
    contract = emission.Contract(traced.fixed, traced.elements, traced.settings, traced.digest, *returns)
    text = emission.emit(job.loaded.source, job.graph, job.chain, calls, contract, facts)
    text = seal.close(text, job.options, TORCH, (job.loaded.source.sha256, *(d for _, d in job.imports)))
    plan_json = dump_plan(
        plan,
        job.chain,
        budget_bytes=job.budget_bytes(reserve),
        reserve_bytes=reserve,
        way=traced.way,
        sha256=job.loaded.source.sha256,
    )
    return Written(plan, calls, facts, text, plan_json)


def profile(options: ProfileOptions, report: Report) -> Result:
    """Measure the ops of a model on the device; the profile, and a line on what is in it.  Raises HiremateError."""
    report("loading")
    loaded = load(
        LoadRequest(path=options.model_path, model=options.model, inputs=options.inputs, device=options.device)
    )
    report("tracing")
    traced = _trace(loaded, WAYS[0])
    tell = lambda done, total: report(f"measuring {done} of {total}")  # noqa: E731
    found = measure_ops(traced.graph_module, options.device, tell)
    where = "" if options.output == "-" else f" in {options.output}"
    summary = (
        f"{len(found.ops)} distinct ops of {loaded.source.name}{where}, "
        f"measured on {found.device} with torch {found.torch}, threads: {found.threads}"
    )
    use = "" if options.output == "-" else f"\n  plan with them: --costs {options.output}"
    return Result(found.dumps(), summary + use)


def _trace(loaded: Loaded, way: str, fresh: Values | None = None) -> Traced:
    with loaded.at_home():
        return trace(loaded.model, loaded.args, loaded.kwargs, loaded.shown, way, fresh)


def _graph(loaded: Loaded, traced: Traced, costs: Costs, device: str) -> Graph:
    origins = Origins(loaded.source, loaded.filename, loaded.source.name)
    origins.learn(traced.graph_module.graph)
    return build(
        traced.graph_module,
        origins=origins,
        costs=costs,
        leaf_constants=traced.leaf_constants,
        detached=traced.detached,
        constants=traced.constants,
        input_paths=traced.input_paths,
        shared=traced.shared,
        device=device,
    )


def _plan(job: Job, reserve: int) -> Plan:
    budget = job.budget_bytes(reserve) - reserve
    if job.given is not None:
        return _fitting(job.given.plan(job.graph, job.chain), job, reserve)
    try:
        return solve(
            job.graph,
            job.chain,
            budget,
            strategy=job.options.strategy,
            time_limit_s=job.options.time_limit_s,
            cache=job.options.cache_folder,
            report=job.report,
        )
    except InfeasibleError as error:
        least, whole = error.minimum_bytes + reserve, budget + reserve
        message = error.message
        if reserve:
            message = (
                f"no plan fits {show_bytes(whole)}: the step took {show_bytes(reserve)} more than estimated, "
                f"and with that the smallest budget that works is {least} bytes ({show_bytes(least)})"
            )
        share = least / (job.eager_peak_bytes + reserve)
        hint = error.hint
        if reserve or isinstance(job.options.budget, float):
            percent = f" ({100 * share:.1f} % of what keeping everything takes)"
            hint = f"give --budget {least}{percent} or more, or make the batch smaller"
        raise InfeasibleError(message, minimum_bytes=least, where=_shown(job, error.where), hint=hint) from error


def _shown(job: Job, where: str) -> str:
    """A place in the model's file, as seen from where the command runs."""
    return (
        os.path.join(os.path.dirname(job.options.model_path), where)
        if where.startswith(job.loaded.source.name)
        else where
    )


def _fitting(plan: Plan, job: Job, reserve: int) -> Plan:
    """Raises InfeasibleError when a plan that was given needs more than the budget."""
    peak = replay(job.graph, plan).peak_bytes + reserve
    budget = job.budget_bytes(reserve)
    if peak > budget:
        message = f"the plan needs {peak} bytes ({show_bytes(peak)}), more than the budget of {show_bytes(budget)}"
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
