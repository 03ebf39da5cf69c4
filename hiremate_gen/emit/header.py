"""The comment block at the top: what made the file, for what, and the plan as a table."""

from __future__ import annotations

from dataclasses import dataclass

from hiremate_gen.emit.carry import HEADER
from hiremate_gen.ir import Chain, Graph, Schedule
from hiremate_gen.units import show_bytes


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


def header(graph: Graph, chain: Chain, schedule: Schedule, facts: Facts) -> str:
    """Lines that start with `#`."""
    inputs = ", ".join(f"{v.path}: {v.dtype}{list(v.shape)}" for v in graph.values if v.kind == "input" and v.path)
    rows = [
        ("source", f"{facts.source_name}  sha256:{facts.sha256[:16]}"),
        *(("", f"{name}  sha256:{digest[:16]}") for name, digest in facts.imports),
        ("inputs", inputs),
        ("device", f"{graph.device}, torch {facts.torch}, costs {facts.costs}"),
        ("budget", f"{show_bytes(facts.budget_bytes)}  ({facts.budget_bytes} bytes)"),
        ("peak", f"{show_bytes(facts.peak_bytes)}  ({facts.peak_bytes} bytes; {facts.source_name}: "
                 f"{show_bytes(facts.eager_peak_bytes)}), in {_where(chain, schedule)}"),
    ]  # fmt: skip
    extra = sum(graph.bytes(r) for r in graph.returned)
    if extra:
        text = f"and {show_bytes(extra)} for as long as the caller holds on to outputs besides the loss"
        rows.append(("", text))
    rows.append(("overhead", overhead(schedule.time_s, facts)))
    rows += [("strategy", facts.strategy)] if facts.strategy else []
    rows += [("seal", facts.seal)] if facts.seal else []
    lines = [HEADER, "#", f"# {facts.command}", "#"]
    lines += [f"# {name:<9} {text}" for name, text in rows]
    lines += ["#", *(f"# {row}".rstrip() for row in table(graph, chain, schedule))]
    return "\n".join(lines)


def overhead(time_s: float, facts: Facts) -> str:
    """`+12.3 % of the step; no schedule within this budget is below +11.8 %`."""
    text = f"+{100 * (time_s / facts.eager_time_s - 1):.1f} % of the step"
    if facts.lower_bound_s is not None:
        bound = max(0.0, 100 * (facts.lower_bound_s / facts.eager_time_s - 1))
        text += f"; no schedule within this budget is below +{bound:.1f} %"
    return text


def _where(chain: Chain, schedule: Schedule) -> str:
    call = schedule.calls[schedule.peak_call]
    return f"{call.phase} of {chain.blocks[call.block].name}"


def table(graph: Graph, chain: Chain, schedule: Schedule) -> list[str]:
    """One row a block: what its forward keeps, what runs again before or in its backward, the peak there."""
    rows = [("block", "forward keeps", "backward runs again", "peak there")]
    again: list[tuple[int, int]] = []
    for call in schedule.calls:
        count = sum(step.again for step in call.steps)
        if call.phase == "forward":
            continue
        if call.phase == "recompute":
            again.append((call.block, count))
            continue
        block = chain.blocks[call.block]
        forward = next(c for c in schedule.calls if c.phase == "forward" and c.block == call.block)
        kept = sum(graph.bytes(r) for r in forward.results if r != block.output)
        others = [f"{n} of {chain.blocks[b].name}" for b, n in again]
        runs = ", ".join([f"{count} of {len(block.forward)} ops"] * bool(count) + others) or "-"
        rows.append((block.name, show_bytes(kept), runs, show_bytes(call.peak_bytes)))
        again = []
    rows[1:] = rows[:0:-1]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
