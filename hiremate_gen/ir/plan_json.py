"""A plan as JSON: kept in the repository, so that a file can be emitted again without a solver."""

from __future__ import annotations

import json

from hiremate_gen.errors import UsageError
from hiremate_gen.ir.chain import Chain
from hiremate_gen.ir.graph import Graph
from hiremate_gen.ir.plan import Plan, Segment

FORMAT = 1


def dump_plan(plan: Plan, chain: Chain, *, budget_bytes: int, sha256: str) -> str:
    """Segments with the ops that are not implied; a forward segment is only its block."""
    segments = []
    for segment in plan.segments:
        block = chain.blocks[segment.block]
        implied = {"forward": block.forward, "backward": block.backward}.get(segment.phase, ())
        row: dict[str, object] = {"phase": segment.phase, "block": block.name}
        if segment.ops != implied:
            row["ops"] = list(segment.ops)
        segments.append(row)
    content = {
        "format": FORMAT,
        "source_sha256": sha256,
        "budget_bytes": budget_bytes,
        "strategy": plan.strategy,
        "status": plan.status,
        "lower_bound_s": plan.lower_bound_s,
        "segments": segments,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def load_plan(text: str, graph: Graph, chain: Chain, *, where: str, sha256: str) -> Plan:
    """Raises UsageError when the file is no plan, or one for another source."""
    hint = "solve again: leave out --plan, and write a new one with --save-plan"
    try:
        content = json.loads(text)
        if content["format"] != FORMAT:
            raise UsageError(f"is a plan in format {content['format']}, not {FORMAT}", where=where, hint=hint)
        blocks = {block.name: number for number, block in enumerate(chain.blocks)}
        segments = []
        for row in content["segments"]:
            number = blocks[row["block"]]
            block = chain.blocks[number]
            implied = {"forward": block.forward, "backward": block.backward}.get(row["phase"], ())
            ops = tuple(row.get("ops", implied))
            if any(name not in graph.op for name in ops):
                raise KeyError(row["block"])
            segments.append(Segment(row["phase"], number, ops))
        plan = Plan(tuple(segments), content["strategy"], content["status"], content["lower_bound_s"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if content_of(text).get("source_sha256") not in (None, sha256):
            raise UsageError("is a plan for another version of the model", where=where, hint=hint) from error
        raise UsageError("is no plan for this model", where=where, hint=hint) from error
    return plan


def content_of(text: str) -> dict[str, object]:
    """The JSON object, empty when it is none."""
    try:
        content = json.loads(text)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
