"""One self-contained HTML page: no scripts, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from hiremate_gen.report import plot
from hiremate_gen.report.explain import explain
from hiremate_gen.report.memory import Mark, memory_plot, short_bytes
from hiremate_gen.report.subject import Budget, Subject
from hiremate_gen.report.sweep import percent, sweep_table
from hiremate_gen.units import show_bytes

OURS = "<!DOCTYPE html>\n<!-- Report by hiremate-gen. -->"  # how a page begins


@dataclass(frozen=True, slots=True)
class BlockRow:
    """A block in the table: bytes, and the share of the peak that its backward reaches, in percent."""

    name: str
    kind: str
    keeps: str
    again: str
    peak: str
    share: float
    highest: bool


@dataclass(frozen=True, slots=True)
class SweepPlot:
    """Overhead against budget: paths, points with a title each, ticks, and where this plan is."""

    overhead: str
    bound: str
    points: tuple[Mark, ...]
    here: Mark
    rows: tuple[Mark, ...]
    columns: tuple[Mark, ...]


def page(subject: Subject, sweep: Sequence[Budget] = ()) -> str:
    """The text of the page.  Equal plans give equal text."""
    template = _environment().get_template("report.html.jinja")
    whole, whole_s = subject.before.peak_bytes + subject.reserve_bytes, subject.before.time_s
    peak, bound_s = subject.run.peak_bytes + subject.reserve_bytes, subject.plan.lower_bound_s
    return OURS + template.render(
        subject=subject,
        plot=plot,
        peak=show_bytes(peak),
        whole=show_bytes(whole),
        saved=f"{100 * (1 - peak / whole):.0f} %",
        budget=show_bytes(subject.budget_bytes),
        overhead=percent(subject.run.time_s / whole_s - 1),
        bound=percent(bound_s / whole_s - 1) if bound_s is not None else "",
        memory=memory_plot(subject),
        blocks=_blocks(subject),
        tables=explain(subject),
        sweep=_sweep_plot(subject, sweep) if len(sweep) > 1 else None,
        sweep_table=sweep_table(subject.source_name, sweep) if sweep else None,
    )


def _blocks(subject: Subject) -> list[BlockRow]:
    graph = subject.graph
    rows: dict[int, BlockRow] = {}
    again = ""
    kept = {c.block: c.results for c in subject.schedule.calls if c.phase == "forward"}
    top = max(c.peak_bytes for c in subject.schedule.calls)
    for call in subject.schedule.calls:
        if call.phase == "forward":
            continue
        block = subject.chain.blocks[call.block]
        count = sum(step.again for step in call.steps)
        if call.phase == "recompute":
            again += f"{', ' * bool(again)}{count} of {subject.block(call.block)}"
            continue
        own = f"{count} of {len(block.forward)} ops" if count else ""
        keeps = sum(graph.bytes(r) for r in kept[call.block] if r != block.output)
        rows[call.block] = BlockRow(
            name=subject.block(call.block),
            kind=block.kind,
            keeps=show_bytes(keeps),
            again=", ".join(filter(None, (own, again))) or "-",
            peak=show_bytes(call.peak_bytes + subject.reserve_bytes),
            share=round(100 * call.peak_bytes / top, 1),
            highest=call.peak_bytes == top,
        )
        again = ""
    return [rows[n] for n in sorted(rows)]


def _sweep_plot(subject: Subject, budgets: Sequence[Budget]) -> SweepPlot:
    first, last = budgets[0].budget_bytes, budgets[-1].budget_bytes
    costs = [(b.budget_bytes, 100 * max(0.0, b.overhead)) for b in budgets]
    bounds = [(b.budget_bytes, 100 * max(0.0, b.least_overhead)) for b in budgets if b.least_overhead is not None]
    frame = plot.Frame(first, last, 1.15 * max(y for _, y in costs) or 1.0)
    here = frame.x(min(max(subject.budget_bytes, first), last))
    now = 100 * max(0.0, subject.run.time_s / subject.before.time_s - 1)
    floor = plot.HEIGHT - plot.BOTTOM
    sizes = [t for t in plot.ticks(last, 1024, 10) if t >= first]
    return SweepPlot(
        overhead=plot.line(frame, costs),
        bound=plot.line(frame, bounds),
        points=tuple(Mark(frame.x(x), frame.y(y), f"{show_bytes(x)}: {y:+.1f} %") for x, y in costs),
        here=Mark(here, frame.y(now), f"this plan {now:+.1f} %", "end" if here > plot.WIDTH / 2 else "start"),
        rows=tuple(Mark(0, frame.y(t), f"{t:g} %") for t in plot.ticks(frame.y1, 1000)),
        columns=tuple(Mark(frame.x(t), floor, short_bytes(t)) for t in sizes),
    )


def _environment() -> jinja2.Environment:
    """Templates stand at the top of a checkout, and inside the package once it is installed."""
    here = Path(__file__).resolve().parents[1]
    folders = [here / "templates", here.parent / "templates"]
    loader = jinja2.FileSystemLoader([str(f) for f in folders])
    return jinja2.Environment(
        loader=loader, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=True
    )
