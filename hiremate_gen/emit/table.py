"""What the plan does, block by block, for people: the table in the header, and what each class says of itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from textwrap import wrap
from typing import Protocol

from hiremate_gen.emit.steps import Steps
from hiremate_gen.ir import Block, Chain, Graph, Schedule
from hiremate_gen.units import show_bytes

_TIED = "\0"  # a space at which no line ends
_WIDEST = 98  # columns
_FEW = 3  # values of another block that are named
_NARROWEST = 30  # columns of the last cell of the table


class Written(Protocol):
    """What is written, as far as it is described here."""

    @property
    def graph(self) -> Graph: ...
    @property
    def chain(self) -> Chain: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def groups(self) -> Sequence[Sequence[int]]: ...


def table(written: Written, schedule: Schedule) -> list[str]:
    """A row for each kind of block and plan: blocks that share both stand in one."""
    peaks: dict[int, int] = {}
    for run in written.steps.runs:
        if run.call.phase == "backward":
            peaks[run.number] = max(peaks.get(run.number, 0), schedule.calls[run.source].peak_bytes)
    rows = [("block", "count", "each keeps", "peak there", "backward runs again")]
    for numbers in written.groups:
        name = instances([written.chain.blocks[n].name for n in numbers])
        kept = show_bytes(sum(written.graph.bytes(r) for r in keeps(written, numbers[0])))
        waiting = waits(written, numbers[0])
        kept += f" + x {show_bytes(written.graph.bytes(waiting))}" if waiting is not None else ""
        peak = show_bytes(max((peaks.get(n, 0) for n in numbers), default=0))
        rows.append((name, str(len(numbers)), kept, peak, ", ".join(recomputes(written, numbers[0])) or "-"))
    return _columns(rows)


def _columns(rows: list[tuple[str, str, str, str, str]]) -> list[str]:
    """Rows as text: the first and the last cell go on in the next line where they are long."""
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    room = _WIDEST - 8
    widths[0] = min(widths[0], max(12, room - _NARROWEST - sum(widths[1:])))
    lines = []
    for row in rows:
        first, last = (
            wrap(_parted(text, width), width, break_on_hyphens=False)
            for text, width in ((row[0], widths[0]), (row[4], room - sum(widths)))
        )
        for k in range(max(len(first), len(last))):
            middle = row[1:4] if k == 0 else ("", "", "")
            cells = (first[k] if k < len(first) else "", *middle)
            padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
            lines.append("  ".join([*padded, last[k] if k < len(last) else ""]).rstrip())
    return lines


def _parted(text: str, width: int) -> str:
    """Words that are longer than a line end at one of their own joints."""
    words = []
    for word in text.split():
        while len(word) > width:
            cut = max(word.rfind(mark, 0, width) for mark in "._") + 1 or width
            words.append(word[:cut])
            word = word[cut:]
        words.append(word)
    return " ".join(words)


def describe(written: Written, numbers: Sequence[int]) -> str:
    """Docstring of the class that serves the blocks `numbers`."""
    names = written.steps.blocks.names[numbers[0]]
    roots = left(written, numbers[0])
    kept = [f"{names[r]} {show_bytes(written.graph.bytes(r))}".replace(" ", _TIED) for r in roots]
    total = f" {show_bytes(sum(map(written.graph.bytes, roots)))}" if len(roots) > 1 else ""
    again = recomputes(written, numbers[0])
    lines = wrap(f"{instances([written.chain.blocks[n].name for n in numbers])}.", 80, break_on_hyphens=False)
    if kept or again:
        lines.append("")
        text = wrap(f"Keeps{total}: {', '.join(kept) or 'nothing'}.", 80, break_long_words=False)
        lines += [line.replace(_TIED, " ") for line in text]
        lines += wrap(f"Runs again: {', '.join(again) or 'nothing'}.", 80, break_long_words=False)
    return "\n    ".join(lines) + ("\n    " if len(lines) > 1 else "")


def keeps(written: Written, number: int) -> list[str]:
    """Roots that the forward of a block leaves behind for backward, its output left out."""
    block = written.chain.blocks[number]
    runs = [written.steps.runs[k] for k in written.steps.of(number, True)]
    made = [r for run in runs for r in run.call.results if r != block.output]
    inside = {r for run in runs for r in (*run.call.takes, *run.call.drops)}
    outputs = {written.graph.index[o.value].root for o in written.graph.outputs if o.value is not None}
    return [r for r in dict.fromkeys(made) if r not in inside and r not in outputs]


def left(written: Written, number: int) -> list[str]:
    """The same with the input of the block, where its forward leaves that to backward."""
    waiting = waits(written, number)
    return [*([waiting] if waiting is not None else []), *keeps(written, number)]


def waits(written: Written, number: int) -> str | None:
    """The input of a block where its forward leaves that to backward."""
    root = written.chain.blocks[number].input
    runs = [written.steps.runs[k].call for k in written.steps.of(number, True)]
    gone = root is None or any(root in (*call.takes, *call.drops) for call in runs)
    return None if gone else root


def recomputes(written: Written, number: int) -> list[str]:
    """What runs again in, or right before, the backward of a block: its values by name, many of others by count."""
    found: dict[str, None] = {}
    others: dict[int, dict[str, None]] = {}
    for k in written.steps.of(number, False):
        run = written.steps.runs[k]
        names = written.steps.blocks.names[run.call.block]
        mine = found if run.call.block == number else others.setdefault(run.call.block, {})
        for op in (s.op for s in run.call.steps if s.again):
            mine |= {names[o]: None for o in written.graph.op[op].outputs[:1] if o is not None}
    blocks = written.chain.blocks
    few = {b: names for b, names in others.items() if len(names) <= _FEW}
    many = [b for b in sorted(others) if b not in few]
    said = [_of(blocks[b], list(names)) for b, names in few.items()]
    if len(many) > 1:
        said.append(f"{sum(len(others[b]) for b in many)} values of {instances([blocks[b].name for b in many])}")
    elif many:
        said.append(_of(blocks[many[0]], list(others[many[0]])))
    return [*found, *said]


def _of(block: Block, names: list[str]) -> str:
    """What runs again of another block: by name where it is little."""
    what = " and ".join(names) if len(names) <= _FEW else f"{len(names)} values"
    return f"{what} of {block.name}"


def peak_line(written: Written, schedule: Schedule) -> str:
    """What is being made at the peak: `it makes grad_h (grad of h = ...) with 4.0 MiB of workspace`."""
    op = written.graph.op[schedule.peak_op]
    names = written.steps.blocks.names[schedule.calls[schedule.peak_call].block]
    made = [names[o] for o in op.outputs if o is not None]
    source = written.graph.op[op.derives].origin.text if op.derives is not None else op.origin.text
    if source.endswith("("):  # the first line of several
        source += "...)"
    what = f" (grad of {source})" if op.derives is not None and source else f" ({source})" if source else ""
    inside = f" with {show_bytes(op.workspace_bytes)} of workspace" if op.workspace_bytes else ""
    return f"it makes {', '.join(made)}{what}{inside}"


def instances(names: Sequence[str]) -> str:
    """`h.0`, `h.1`, `h.2`, `h.5` as `h.0-2,5`; `h.0`, `h.2`, `h.4`, `h.6` as `h.0,2,..,6`."""
    split = [re.fullmatch(r"(.*?)(\d+)((?:\.[^.\d]+)*)", name) for name in names]
    keyed = [(m[1], m[3], int(m[2])) if m else (name, None, 0) for m, name in zip(split, names, strict=True)]
    found = []
    for (stem, tail), group in groupby(keyed, key=lambda k: k[:2]):
        found.append(stem if tail is None else f"{stem}{_ranges([k[2] for k in group])}{tail}")
    return ", ".join(found)


def _ranges(numbers: list[int]) -> str:
    parts: list[str] = []
    while numbers:
        step = numbers[1] - numbers[0] if len(numbers) > 1 else 1
        length = 1
        while length < len(numbers) and numbers[length] - numbers[length - 1] == step:
            length += 1
        if step == 1 and length > 1:
            parts.append(f"{numbers[0]}-{numbers[length - 1]}")
        elif length > 3:
            parts += [str(numbers[0]), str(numbers[1]), "..", str(numbers[length - 1])]
        else:
            length = 1
            parts.append(str(numbers[0]))
        numbers = numbers[length:]
    return ",".join(parts)
