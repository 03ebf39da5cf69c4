"""The comment block at the top: what made the file, for what, and the plan as a table."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from textwrap import wrap

from hiremate_gen.emit.carry import HEADER
from hiremate_gen.emit.glue import Glue
from hiremate_gen.emit.table import left, peak_line, table
from hiremate_gen.ir import Chain, Graph, Schedule
from hiremate_gen.units import show_bytes

_WIDEST = 100  # columns


@dataclass(frozen=True, slots=True)
class Facts:
    """What the header says besides the plan."""

    command: str
    source_name: str
    sha256: str
    budget_bytes: int
    peak_bytes: int
    eager_peak_bytes: int
    eager_time_s: float
    lower_bound_s: float | None
    costs: str
    torch: str  # major.minor
    strategy: str = ""  # the method and how it ended, where it is not the usual one
    imports: tuple[tuple[str, str], ...] = ()  # other files of the user's: path, digest
    seal: str = ""  # what `--check` reads


def header(graph: Graph, chain: Chain, schedule: Schedule, facts: Facts, glue: Glue) -> str:
    """Lines that start with `#`: the plan first, then what it was made for and what it costs."""
    inputs = ", ".join(f"{v.path}: {v.dtype}{list(v.shape)}" for v in graph.values if v.kind == "input" and v.path)
    peak = (
        f"{show_bytes(facts.peak_bytes)}  ({facts.peak_bytes} bytes; {facts.source_name}: "
        f"{show_bytes(facts.eager_peak_bytes)}), in {_where(chain, schedule)}"
    )
    rows = [
        ("source", f"{facts.source_name}  sha256:{facts.sha256[:16]}"),
        *(("", f"{name}  sha256:{digest[:16]}") for name, digest in facts.imports),
        ("inputs", inputs),
        ("device", f"{graph.device}, torch {facts.torch}, costs {facts.costs}"),
        ("budget", _budget(graph, chain, facts, glue)),
        ("peak", peak),
        ("", f"there {peak_line(glue, schedule)}"),
        ("overhead", overhead(schedule.time_s, facts)),
    ]
    extra = sum(graph.bytes(r) for r in graph.returned)
    if extra:
        text = f"{show_bytes(extra)} on top of the peak while the caller holds on to what is not the loss"
        rows.insert(-1, ("outputs", text))
    rows += [("strategy", facts.strategy)] if facts.strategy else []
    rows += [("seal", facts.seal)] if facts.seal else []
    lines = [HEADER, "#", *_command(facts.command), "#"]
    costs = next(k for k, (name, _) in enumerate(rows) if name == "budget")
    lines += [line for name, text in rows[:costs] for line in _row(name, text)]
    lines += ["#", *(f"# {row}".rstrip() for row in table(glue, schedule)), "#"]
    lines += [line for name, text in rows[costs:] for line in _row(name, text)]
    return "\n".join(lines)


def _row(name: str, text: str) -> list[str]:
    first, *more = wrap(text, _WIDEST - 12, break_long_words=False, break_on_hyphens=False)
    return [f"# {name:<9} {first}", *(f"# {'':<9} {line}" for line in more)]


def _command(command: str) -> list[str]:
    """The command, over several lines where it is long, as a shell takes it."""
    words = [shlex.quote(word) for word in shlex.split(command)]
    lines, line = [], words[0]
    for word in words[1:]:
        if len(line) + len(word) + 5 > _WIDEST:
            lines.append(f"{line} \\")
            line = f"    {word}"
        else:
            line += f" {word}"
    return [f"# {text}" for text in ([command] if len(command) + 2 <= _WIDEST else [*lines, line])]


def overhead(time_s: float, facts: Facts) -> str:
    """`+12.3 % of the step; no schedule within this budget is below +11.8 %`."""
    text = f"+{100 * (time_s / facts.eager_time_s - 1):.1f} % of the step"
    if facts.lower_bound_s is not None:
        bound = max(0.0, 100 * (facts.lower_bound_s / facts.eager_time_s - 1))
        text += f"; no schedule within this budget is below +{bound:.1f} %"
    return text


def _budget(graph: Graph, chain: Chain, facts: Facts, glue: Glue) -> str:
    """With the shares of it that are there all the time and that forward leaves to backward."""
    kept = sum(map(graph.bytes, {root for n in range(len(chain.blocks)) for root in left(glue, n)}))
    return (
        f"{show_bytes(facts.budget_bytes)}  ({facts.budget_bytes} bytes); "
        f"weights, buffers, inputs {show_bytes(graph.static_bytes)}; blocks keep {show_bytes(kept)}"
    )


def _where(chain: Chain, schedule: Schedule) -> str:
    call = schedule.calls[schedule.peak_call]
    return f"{call.phase} of {chain.blocks[call.block].name}"
