"""Each tensor that forward keeps and why, and what lives at the moments of highest memory."""

from __future__ import annotations

from collections.abc import Iterator

from hiremate_gen.ir import Moment, Op
from hiremate_gen.ir.graph import STATIC_KINDS
from hiremate_gen.ir.table import Table
from hiremate_gen.report.live import residents
from hiremate_gen.report.subject import Subject
from hiremate_gen.units import show_bytes

_SHORT = {"float": "f", "int": "i", "uint": "u", "bfloat": "bf", "complex": "c"}
_COLUMNS = ("bytes", "tensor", "made by", "kept because")
MOMENTS = 3


def explain(subject: Subject) -> tuple[Table, ...]:
    """For --explain: saved tensors by block, then the moments of highest memory, no two in the same function."""
    moments = subject.run.moments
    first = next(i for i, m in enumerate(moments) if subject.plan.segments[m.segment].phase != "forward")
    high = _highest(subject)
    live = residents(subject.graph, subject.plan, subject.run, [first, *high])
    saved = [r for r in live[first] if subject.graph.index[r].kind != "tangent"]
    total = sum(subject.graph.bytes(r) for r in saved)
    tables = list(_saved_tables(subject, saved, moments[first:]))
    head = Table(f"What forward keeps for backward: {_count(len(saved))}, {show_bytes(total)}", (), ())
    return head, *tables, *(_moment_table(subject, n, at, live[at]) for n, at in enumerate(high, 1))


# ---- saved tensors ---------------------------------------------------------------------------------------------------


def _saved_tables(subject: Subject, saved: list[str], later: tuple[Moment, ...]) -> Iterator[Table]:
    """One for all blocks that keep the same."""
    readers: dict[str, Moment] = {}
    for moment in reversed(later):
        readers.update(dict.fromkeys(subject.graph.reads[moment.op], moment))
    groups: dict[tuple[tuple[str, ...], ...], list[int]] = {}
    sizes: dict[int, tuple[int, int]] = {}
    for number, block in enumerate(subject.chain.blocks):
        mine = [r for r in saved if subject.home(r) == number]
        rows = tuple(_saved_row(subject, number, root, readers.get(root)) for root in mine)
        handed = sum(subject.graph.bytes(r) for r in mine if r == block.output)
        sizes[number] = sum(map(subject.graph.bytes, mine)) - handed, handed
        if rows:
            groups.setdefault(rows, []).append(number)
    for rows, numbers in groups.items():
        kept, handed = sizes[numbers[0]]
        title = f"{', '.join(map(subject.block, numbers))}: {show_bytes(kept)}{' each' * (len(numbers) > 1)}"
        title += f", and {show_bytes(handed)} handed on" if handed else ""
        yield Table(title, _COLUMNS, rows, frozenset({0}))


def _saved_row(subject: Subject, number: int, root: str, reader: Moment | None) -> tuple[str, ...]:
    maker = subject.graph.op[subject.graph.producer[root]]
    size = show_bytes(subject.graph.bytes(root))
    return size, _named(subject, number, root), subject.place(maker), _why(subject, maker, reader)


def _why(subject: Subject, maker: Op, reader: Moment | None) -> str:
    """The first op after forward that reads it, and why it is not made again."""
    if reader is None:
        return "the model returns it"
    op = subject.graph.op[reader.op]
    reads = f"{subject.short(op)} {'reads it' if op.backward else 'runs again from it'}"
    if subject.line(op) != subject.line(maker):
        reads += f" ({subject.line(op)})"
    if maker.random:
        return f"{reads}; random, drawn once"
    return reads if maker.recomputable else f"{reads}; it may be made only once"


# ---- moments ---------------------------------------------------------------------------------------------------------


def _highest(subject: Subject) -> list[int]:
    """The moment of highest memory of each segment, and of these the highest, in order of bytes."""
    best: dict[int, int] = {}
    for at, moment in enumerate(subject.run.moments):
        if moment.peak_bytes > subject.run.moments[best.setdefault(moment.segment, at)].peak_bytes:
            best[moment.segment] = at
    return sorted(best.values(), key=lambda at: (-subject.run.moments[at].peak_bytes, at))[:MOMENTS]


def _moment_table(subject: Subject, number: int, at: int, live: tuple[str, ...]) -> Table:
    graph, moment = subject.graph, subject.run.moments[at]
    op, segment = graph.op[moment.op], subject.plan.segments[moment.segment]
    again = " again" if moment.again else ""
    title = (
        f"Moment {number}: {show_bytes(moment.peak_bytes + subject.reserve_bytes)} in {segment.phase} of "
        f"{subject.block(segment.block)}, while {subject.short(op)} runs{again} ({subject.line(op)})"
    )
    return Table(title, ("bytes", "where", "what"), tuple(_moment_rows(subject, moment, live)), frozenset({0}))


def _moment_rows(subject: Subject, moment: Moment, live: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Rows add up to the moment's bytes."""
    graph, here = subject.graph, subject.plan.segments[moment.segment].block
    op = graph.op[moment.op]
    over = moment.overwrites
    for root in graph.writes[moment.op]:
        taken = f", in place of {subject.name(here, over)}" if over is not None else ""
        size = graph.bytes(root) - (graph.bytes(over) if over is not None else 0)
        yield show_bytes(size), "this op", f"{_named(subject, here, root)} is made{taken}"
        over = None  # the first output takes it over
    if op.workspace_bytes:
        yield show_bytes(op.workspace_bytes), "this op", "workspace"
    mine = [r for r in live if subject.home(r) == here]
    for root in sorted(mine, key=lambda r: -graph.bytes(r)):
        yield show_bytes(graph.bytes(root)), subject.block(here), _named(subject, here, root)
    for number in range(len(subject.chain.blocks)):
        roots = [r for r in live if number != here and subject.home(r) == number]
        if roots:
            names = ", ".join(subject.name(number, r) for r in roots)
            yield show_bytes(sum(map(graph.bytes, roots))), subject.block(number), names
    for kind in STATIC_KINDS:
        size = sum(v.bytes for v in graph.values if v.kind == kind and v.root == v.name)
        if size:
            yield show_bytes(size), "the caller" if kind == "input" else "the model", f"{kind}s"
    if subject.reserve_bytes:
        yield show_bytes(subject.reserve_bytes), "measured", "what the estimates lacked"


def _named(subject: Subject, number: int, root: str) -> str:
    """`h f32[4096, 256]`, by its name in the functions of the block."""
    value = subject.graph.index[root]
    kind = value.dtype.rstrip("0123456789")
    dtype = "bool" if value.dtype == "bool" else f"{_SHORT.get(kind, kind)}{value.dtype[len(kind) :]}"
    return f"{subject.name(number, root)} {dtype}[{', '.join(map(str, value.shape))}]"


def _count(number: int) -> str:
    return f"{number} tensor{'s' * (number != 1)}"
