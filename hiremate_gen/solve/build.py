"""From the shared types to nets and back: the whole graph as one net, schedules as plans."""

from __future__ import annotations

from itertools import groupby

from hiremate_gen.ir import Chain, Graph, Plan, Segment
from hiremate_gen.solve.net import Codes, Net


def whole(graph: Graph, chain: Chain) -> tuple[Net, tuple[str, ...], tuple[str, ...]]:
    """The net of the whole step, with the names of its ops and of its roots."""
    forward = [name for b in chain.blocks for name in b.forward]
    backward = [name for b in reversed(chain.blocks) for name in b.backward]
    names = (*forward, *backward)
    n = len(chain.blocks)
    block = tuple(
        [b for b in range(n) for _ in chain.blocks[b].forward]
        + [b for b in reversed(range(n)) for _ in chain.blocks[b].backward]
    )
    reads, writes = [list(graph.reads[o]) for o in names], [list(graph.writes[o]) for o in names]
    tangents = {v.name for v in graph.values if v.kind == "tangent"}
    _lend_tangents(reads, writes, block, tangents)
    _keep_handed(reads, writes, block, graph.handed)
    used = {r for rs in (*reads, *writes) for r in rs} | graph.held
    roots = [v.name for v in graph.values if v.name in used]
    number = {r: k for k, r in enumerate(roots)}
    size = tuple(graph.bytes(r) for r in roots)
    producer = [-1] * len(roots)
    for o, made in enumerate(writes):
        for r in made:
            producer[number[r]] = o
    gates = [-1] * len(names)
    for o in range(len(forward), len(names)):
        gates[o] = gates[o - 1] if o > len(forward) and block[o] == block[o - 1] else o
    net = Net(
        n_forward=len(forward),
        reads=tuple(tuple(number[r] for r in rs) for rs in reads),
        writes=tuple(tuple(number[r] for r in rs) for rs in writes),
        inplace=tuple(
            tuple(number[r] for r in graph.op[o].inplace if r in number and r not in tangents) for o in names
        ),
        time_s=tuple(graph.op[o].time_s for o in names),
        work=tuple(graph.op[o].workspace_bytes for o in names),
        recomputable=tuple(graph.op[o].recomputable for o in names),
        block=block,
        gate=tuple(gates),
        size=size,
        held=frozenset(number[r] for r in graph.held),
        base=graph.static_bytes,
        producer=tuple(producer),
        out=tuple(sum(graph.bytes(r) for r in rs) for rs in writes),
        twin=tuple(b.twin for b in chain.blocks),
    )
    return net, names, tuple(roots)


def _lend_tangents(reads: list[list[str]], writes: list[list[str]], block: tuple[int, ...], tangents: set[str]) -> None:
    """Give each tangent a maker (its first reader) and a last reader (the last op of the last block that reads it)."""
    for tangent in sorted(tangents):
        readers = [o for o, rs in enumerate(reads) if tangent in rs]
        if not readers:
            continue
        first, last = readers[0], readers[-1]
        while last + 1 < len(block) and block[last + 1] == block[last]:
            last += 1
        reads[first].remove(tangent)
        writes[first].append(tangent)
        if last > first and tangent not in reads[last]:
            reads[last].append(tangent)


def _keep_handed(
    reads: list[list[str]], writes: list[list[str]], block: tuple[int, ...], handed: frozenset[str]
) -> None:
    """Parts of gradients live to the end of the segments that make and read them: the last op there reads them."""
    for o, (made, read) in enumerate(zip(writes, reads, strict=True)):
        last = o
        while last + 1 < len(block) and block[last + 1] == block[o]:
            last += 1
        for root in (*made, *read):
            if root in handed and last > o and root not in reads[last]:
                reads[last].append(root)


def to_plan(chain: Chain, net: Net, names: tuple[str, ...], codes: Codes, strategy: str, status: str = "") -> Plan:
    """Write a schedule as the segments that `Plan` describes."""
    segments = [Segment("forward", k, b.forward) for k, b in enumerate(chain.blocks)]
    n = net.n_forward
    runs: dict[int, list[int]] = {}
    for code in codes:
        runs.setdefault(code // n, []).append(code % n)
    stage = n
    for k in reversed(range(len(chain.blocks))):
        ops: list[int] = []
        for _ in chain.blocks[k].backward:
            ops += [*runs.get(stage, ()), stage]
            stage += 1
        groups = [(b, [*group]) for b, group in groupby(ops, key=lambda o: net.block[o])]
        for b, group in groups[:-1]:
            segments.append(Segment("recompute", b, tuple(names[o] for o in group)))
        last = groups[-1][1] if groups else []
        segments.append(Segment("backward", k, tuple(names[o] for o in last)))
    return Plan(tuple(segments), strategy, status)
