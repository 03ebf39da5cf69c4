"""Memory over the step, before and after: one plot."""

from __future__ import annotations

from dataclasses import dataclass

from hiremate_gen.ir import Plan, Replay
from hiremate_gen.report.plot import BOTTOM, HEIGHT, RIGHT, TOP, WIDTH, Frame, steps, ticks
from hiremate_gen.report.subject import Subject
from hiremate_gen.units import show_bytes

_LETTER = 6.4  # width of a small letter, in units of the plot


@dataclass(frozen=True, slots=True)
class Stretch:
    """A segment of the plan on the x axis."""

    x: float
    width: float
    phase: str
    label: str  # empty where it does not fit
    title: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled point or line; `anchor` is SVG's text-anchor."""

    x: float
    y: float
    label: str
    anchor: str = "start"


@dataclass(frozen=True, slots=True)
class MemoryPlot:
    """Everything that the template draws."""

    before: str
    after: str
    stretches: tuple[Stretch, ...]
    turn: float  # where forward ends
    end: float  # where the plan ends
    static: Mark
    budget: Mark
    peak_before: Mark
    peak_after: Mark
    rows: tuple[Mark, ...]  # ticks of the y axis
    columns: tuple[Mark, ...]  # of the x axis


def memory_plot(subject: Subject) -> MemoryPlot:
    """Predicted bytes over predicted time."""
    after, before = _spans(subject, subject.run), _spans(subject, subject.before)
    top = max(height for *_, height in (*after, *before))
    end = max(after[-1][1], before[-1][1])
    frame = Frame(0.0, end, 1.12 * max(top, subject.budget_bytes if subject.budget_bytes < 1.5 * top else 0))
    stretches = _stretches(subject, after, frame)
    static = subject.graph.static_bytes + subject.reserve_bytes
    return MemoryPlot(
        before=steps(frame, before),
        after=steps(frame, after),
        stretches=stretches,
        turn=next((s.x for s in stretches if s.phase != "forward"), frame.x(end)),
        end=frame.x(after[-1][1]),
        static=Mark(frame.x(0), frame.y(static), f"parameters, buffers, inputs: {show_bytes(static)}"),
        budget=Mark(frame.x(0), max(frame.y(subject.budget_bytes), TOP), f"budget {show_bytes(subject.budget_bytes)}"),
        peak_before=_peak(frame, before, subject.before, subject.eager, subject),
        peak_after=_peak(frame, after, subject.run, subject.plan, subject),
        rows=tuple(Mark(0, frame.y(t), short_bytes(t)) for t in ticks(frame.y1, 1024)),
        columns=tuple(Mark(frame.x(t), HEIGHT - BOTTOM, _seconds(t, end)) for t in ticks(end, 1000, 8)),
    )


def _spans(subject: Subject, run: Replay) -> list[tuple[float, float, float]]:
    now, spans = 0.0, []
    for moment in run.moments:
        after = now + subject.graph.op[moment.op].time_s
        spans.append((now, after, float(moment.peak_bytes + subject.reserve_bytes)))
        now = after
    return spans


def _stretches(subject: Subject, spans: list[tuple[float, float, float]], frame: Frame) -> tuple[Stretch, ...]:
    bounds: dict[int, tuple[float, float, float]] = {}
    for moment, (start, end, height) in zip(subject.run.moments, spans, strict=True):
        first, _, top = bounds.get(moment.segment, (start, end, 0.0))
        bounds[moment.segment] = first, end, max(top, height)
    found = []
    for number, (start, end, height) in sorted(bounds.items()):
        segment = subject.plan.segments[number]
        name = subject.block(segment.block)
        x, width = frame.x(start), round(frame.x(end) - frame.x(start), 1)
        label = _last(name) if _LETTER * len(_last(name)) + 6 < width else ""
        title = f"{segment.phase} of {name}: up to {show_bytes(int(height))}"
        found.append(Stretch(x, width, segment.phase, label, title))
    return tuple(found)


def _last(name: str) -> str:
    """The part of a path that tells blocks apart: `transformer.h.0` -> `h.0`, `ln_f..lm_head` as it is."""
    parts = [end.split(".") for end in name.split("..")]
    return "..".join(".".join(p[-2:] if p[-1].isdigit() else p[-1:]) for p in parts)


def _peak(frame: Frame, spans: list[tuple[float, float, float]], run: Replay, plan: Plan, subject: Subject) -> Mark:
    start, end, height = spans[run.peak]
    segment = plan.segments[run.moments[run.peak].segment]
    label = f"{show_bytes(int(height))} in {segment.phase} of {subject.block(segment.block)}"
    x = frame.x((start + end) / 2)
    half = _LETTER * len(label) / 2 + 8
    anchor = "end" if x + half > WIDTH - RIGHT else "start" if x - half < frame.x(0) else "middle"
    return Mark(x, frame.y(height), label, anchor)


def short_bytes(size: float) -> str:
    """As on an axis: `100 MiB`, not `100.0 MiB`."""
    return show_bytes(int(size)).replace(".0 ", " ")


def _seconds(value: float, end: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if end * factor >= 1 or unit == "µs":
            return f"{value * factor:.4g} {unit}" if value else "0"
    raise AssertionError
