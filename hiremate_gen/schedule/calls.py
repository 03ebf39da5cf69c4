"""Plan to calls: what each function takes, frees and hands on follows from the replay."""

from __future__ import annotations

from hiremate_gen.ir import Call, Graph, Moment, Plan, Replay, Schedule, Step, replay


def calls(graph: Graph, plan: Plan) -> Schedule:
    """Raises ValueError when `plan` is not a schedule of `graph`."""
    run = replay(graph, plan)
    unused = _states_without_use(graph, run)
    found = []
    start = 0
    for segment in plan.segments:
        moments = run.moments[start : start + len(segment.ops)]
        start += len(segment.ops)
        found.append(_call(graph, segment.phase, segment.block, moments, unused))
    return Schedule(
        calls=tuple(found),
        peak_bytes=run.peak_bytes,
        peak_call=run.moments[run.peak].segment,
        peak_op=run.moments[run.peak].op,
        time_s=run.time_s,
    )


def _states_without_use(graph: Graph, run: Replay) -> frozenset[str]:
    """Generator states that no op runs again with: they need not be taken."""
    states = {r for op in graph.computes for r in graph.writes[op.name] if graph.index[r].kind == "rng"}
    used = {graph.op[m.op].replays for m in run.moments if m.again}
    return frozenset(states - used)


def _call(graph: Graph, phase: str, block: int, moments: tuple[Moment, ...], unused: frozenset[str]) -> Call:
    steps: list[Step] = []
    made: dict[str, None] = {}
    taken: dict[str, None] = {}
    borrowed: dict[str, None] = {}
    for moment in moments:
        writes = graph.writes[moment.op]
        if unused.intersection(writes):
            continue
        frees = tuple(r for r in moment.frees if r not in unused)
        if phase == "forward":  # the caller gets these, from the last block
            returned = tuple(r for r in frees if r in graph.returned)
            taken.update(dict.fromkeys(r for r in returned if r not in made and r not in writes))
            for root in returned:
                borrowed.pop(root, None)
            frees = tuple(r for r in frees if r not in returned)
        for root in _read(graph, moment, unused):
            if root not in made and root not in taken:
                borrowed[root] = None
        for root in frees:
            if root in borrowed:
                taken[root] = None
                del borrowed[root]
        # A held root made again is dropped at once: the first copy lives on.
        copies = tuple(r for r in writes if moment.again and r in graph.held)
        made.update(dict.fromkeys(r for r in writes if r not in copies))
        for root in frees:
            made.pop(root, None)
        steps.append(Step(moment.op, moment.again, (*frees, *copies), moment.overwrites))
    peak = max((m.peak_bytes for m in moments), default=0)
    order = _first_use(graph, moments)
    return Call(
        phase,
        block,
        tuple(steps),
        tuple(sorted(taken, key=lambda r: order[r])),
        tuple(sorted(borrowed, key=order.__getitem__)),
        tuple(made),
        peak,
    )


def _read(graph: Graph, moment: Moment, unused: frozenset[str]) -> list[str]:
    """Roots that the step needs: a random op needs the generator's state only when it runs again."""
    state = None if moment.again else graph.op[moment.op].replays
    return [r for r in graph.reads[moment.op] if r != state and r not in unused]


def _first_use(graph: Graph, moments: tuple[Moment, ...]) -> dict[str, int]:
    order: dict[str, int] = {}
    for moment in moments:
        for root in (*graph.reads[moment.op], *moment.frees):
            order.setdefault(root, len(order))
    return order
