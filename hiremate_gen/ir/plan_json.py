"""A plan as JSON: kept in the repository, so that a file can be emitted again without a solver."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hiremate_gen.errors import UsageError
from hiremate_gen.ir.chain import Chain
from hiremate_gen.ir.graph import Graph
from hiremate_gen.ir.plan import Plan, Segment
from hiremate_gen.ir.replay import replay

FORMAT = 1
_HINT = "solve again: leave out --plan, and write a new one with --save-plan"


@dataclass(frozen=True)
class PlanFile:
    """A plan as read, before there is a graph: `way` is how the model was traced, `reserve_bytes` what the self-check
    found missing in the estimates."""

    way: str
    reserve_bytes: int
    budget_bytes: int
    where: str
    same_source: bool
    content: dict[str, Any]

    def plan(self, graph: Graph, chain: Chain) -> Plan:
        """Raises UsageError when it is a plan of another model."""
        try:
            segments = tuple(_segment(row, graph, chain) for row in self.content["segments"])
            c = self.content
            plan = Plan(segments, c["strategy"], c["status"], c["lower_bound_s"])
            _check(plan, graph, chain)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise self._foreign() from error
        return plan

    def _foreign(self) -> UsageError:
        what = "is no plan for this model" if self.same_source else "is a plan for another version of the model"
        return UsageError(what, where=self.where, hint=_HINT)


def dump_plan(plan: Plan, chain: Chain, *, budget_bytes: int, reserve_bytes: int, way: str, sha256: str) -> str:
    """Segments with the ops that are not implied; a forward segment is only its block."""
    segments = []
    for segment in plan.segments:
        row: dict[str, object] = {"phase": segment.phase, "block": chain.blocks[segment.block].name}
        if segment.ops != _implied(segment.phase, chain, segment.block):
            row["ops"] = list(segment.ops)
        segments.append(row)
    content = {
        "format": FORMAT,
        "source_sha256": sha256,
        "trace": way,
        "budget_bytes": budget_bytes,
        "reserve_bytes": reserve_bytes,
        "strategy": plan.strategy,
        "status": plan.status,
        "lower_bound_s": plan.lower_bound_s,
        "segments": segments,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def read_plan(text: str, *, where: str, sha256: str) -> PlanFile:
    """Raises UsageError when the file is no plan."""
    try:
        content = json.loads(text)
        if content["format"] != FORMAT:
            raise UsageError(f"is a plan in format {content['format']}, not {FORMAT}", where=where, hint=_HINT)
        same = content["source_sha256"] == sha256
        return PlanFile(content["trace"], content["reserve_bytes"], content["budget_bytes"], where, same, content)
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError("is no plan", where=where, hint=_HINT) from error


def _segment(row: dict[str, Any], graph: Graph, chain: Chain) -> Segment:
    number = [block.name for block in chain.blocks].index(row["block"])
    ops = tuple(row.get("ops", _implied(row["phase"], chain, number)))
    if any(name not in graph.op for name in ops):
        raise ValueError(row["block"])
    return Segment(row["phase"], number, ops)


def _implied(phase: str, chain: Chain, number: int) -> tuple[str, ...]:
    block = chain.blocks[number]
    return {"forward": block.forward, "backward": block.backward}.get(phase, ())


def _check(plan: Plan, graph: Graph, chain: Chain) -> None:
    """Raises ValueError when it is not the whole step, or an op reads what is not there."""
    blocks = chain.blocks
    forward = tuple(Segment("forward", number, block.forward) for number, block in enumerate(blocks))
    if plan.segments[: len(blocks)] != forward:
        raise ValueError("the forward is not whole")
    order = []
    for segment in plan.segments[len(blocks) :]:
        block = blocks[segment.block]
        own = {"recompute": (), "backward": block.backward}[segment.phase]
        if sorted(name for name in segment.ops if name not in block.forward) != sorted(own):
            raise ValueError(f"{segment.phase} of {block.name}: not its ops")
        if segment.phase == "backward":
            order.append(segment.block)
    if order != list(reversed(range(len(blocks)))) or plan.segments[-1].phase != "backward":
        raise ValueError("the backward is not whole")
    replay(graph, plan)
