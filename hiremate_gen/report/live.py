"""Which roots are live at a moment of a replay: the replay itself only counts their bytes."""

from __future__ import annotations

from collections.abc import Iterable

from hiremate_gen.ir import Graph, Plan, Replay


def residents(graph: Graph, plan: Plan, run: Replay, wanted: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Moment -> the roots that are live while its op runs, before its outputs: sorted by age, static ones left out.

    With their bytes, those of the outputs (less an input that is overwritten), of the workspace and of the static
    values, the sum is the moment's `peak_bytes`.
    """
    tangents = {v.name for v in graph.values if v.kind == "tangent"}
    ends = {r: m.segment for m in run.moments for r in graph.reads[m.op] if r in tangents}
    ends |= {r: m.segment for m in run.moments for r in graph.writes[m.op] if r in graph.handed}
    live: dict[str, None] = {}
    found = {}
    left = sorted(set(wanted), reverse=True)
    for at, moment in enumerate(run.moments):
        for root in [r for r in live if ends.get(r, moment.segment) < moment.segment]:
            del live[root]
        live.update(dict.fromkeys(r for r in graph.reads[moment.op] if r in tangents))
        if left and at == left[-1]:
            found[left.pop()] = tuple(live)
        live.update(dict.fromkeys(graph.writes[moment.op]))
        for root in moment.frees:
            del live[root]
        if not left:
            break
    return found
