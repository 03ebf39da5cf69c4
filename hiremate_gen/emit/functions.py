"""A call of the schedule as the source of a function: one op a line, every `del` in plain sight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hiremate_gen.emit.calls import argument, call
from hiremate_gen.emit.names import Names
from hiremate_gen.ir import Call, Graph, Op, Ref, Step
from hiremate_gen.ir.graph import RNG_STATE, refs

_SHORT = {"float": "f", "int": "i", "uint": "u", "bfloat": "bf", "complex": "c"}


@dataclass(frozen=True, slots=True)
class Function:
    """Source of a function without its name.

    Roots that die inside come in a list, `taken`, that the function empties: as plain arguments they would live on in
    whoever calls (CPython keeps the arguments of a long call in a tuple).  `borrowed` are the values behind the
    parameters after it; parameters and buffers of the model come as named tuples.
    """

    parameters: tuple[str, ...]
    taken: tuple[str, ...]
    borrowed: tuple[str, ...]
    tuples: tuple[str, ...]  # "weights", "buffers": those that are read
    results: tuple[str, ...]
    result_values: tuple[str, ...]
    body: tuple[str, ...]
    uses_rng: bool


@dataclass
class _Body:
    graph: Graph
    call: Call
    names: Names
    tuples: Mapping[str, str]  # static value -> the named tuple that brings it
    extra: tuple[str, ...]  # further values to return (what the model returns)
    lines: list[str] = field(default_factory=list)
    shown: dict[str, str] = field(default_factory=dict)  # views that have a name here
    holders: dict[str, list[str]] = field(default_factory=dict)  # root -> names of its views here
    uses: dict[str, int] = field(default_factory=dict)
    comment: str = ""
    rng: bool = False
    live: dict[str, None] = field(default_factory=dict)  # names of tensors that are there, those that stay first

    def name(self, value: str) -> str:
        """How the function calls a value that is no view."""
        owner = self.tuples.get(value)
        return f"{owner}.{self.names[value]}" if owner else self.names[value]

    @property
    def device(self) -> str:
        """Source of the device that the function works on."""
        return f"{next(iter(self.live))}.device"


def write(
    graph: Graph,
    call_: Call,
    names: Names,
    tuples: Mapping[str, str],
    extra: tuple[str, ...] = (),
    served: frozenset[str] = frozenset(),
) -> Function:
    """Write `call_` as a function.

    `tuples` tells for parameters and buffers of the model which named tuple brings them.  `extra` are values to return
    after `call_.results`.  They may be views; `served` are roots among the results that serve nothing but an extra,
    and are not returned themselves.
    """
    body = _Body(graph, call_, names, tuples, extra)
    statics = _statics(body)
    made = {r for step in call_.steps for r in graph.writes[step.op]}
    roots = dict.fromkeys(graph.index[v].root for v in extra)
    borrowed = tuple(dict.fromkeys((*call_.borrows, *(v for v in statics if v not in tuples))))
    known = {*made, *call_.takes, *borrowed}
    borrowed += tuple(r for r in roots if r not in known and r not in tuples)
    body.live = {body.name(p): None for p in (*statics, *borrowed, *call_.takes) if graph.index[p].kind != "rng"}
    _take(body)
    _count(body)
    steps = list(call_.steps)
    while steps:
        fused = _fuses(body, steps)
        _step(body, steps[: 2 if fused else 1])
        del steps[: 2 if fused else 1]
    results = tuple(dict.fromkeys((*(r for r in call_.results if r not in served), *extra)))
    used = tuple(dict.fromkeys(tuples[v] for v in statics if v in tuples))
    return Function(
        parameters=(*(["taken"] if call_.takes else []), *(names[v] for v in borrowed), *sorted(used, reverse=True)),
        taken=call_.takes,
        borrowed=borrowed,
        tuples=tuple(sorted(used, reverse=True)),
        results=tuple(_show(body, r) for r in results),
        result_values=results,
        body=tuple(body.lines),
        uses_rng=body.rng,
    )


def _take(body: _Body) -> None:
    taken = [body.names[r] for r in body.call.takes]
    if taken:
        body.lines.append(f"{', '.join(taken)}{',' if len(taken) == 1 else ''} = taken")
        body.lines.append("taken.clear()")


def _statics(body: _Body) -> tuple[str, ...]:
    """Static roots that the call reads: some arguments are not read when an op runs again."""
    graph = body.graph
    found: dict[str, None] = {}
    for step in body.call.steps:
        op = graph.op[step.op]
        args = op.again_args if step.again and op.again_args is not None else op.args
        values = [*refs(args), *(n for _, a in op.kwargs for n in refs(a))]
        values += [] if step.again else [b for _, b in op.writes_buffer]
        for value in values:
            root = graph.index[value].root
            if graph.index[root].static:
                found[root] = None
    for value in body.extra:
        if graph.index[graph.index[value].root].static:
            found[graph.index[value].root] = None
    return tuple(found)


def _count(body: _Body) -> None:
    """How often each view is needed: one that is needed twice gets a line of its own."""

    def need(value: str) -> None:
        op = body.graph.maker.get(value)
        if op is None or not op.view:
            return
        body.uses[value] = body.uses.get(value, 0) + 1
        if body.uses[value] == 1:
            need(op.inputs[0])

    for step in body.call.steps:
        for value in body.graph.op[step.op].inputs:
            need(value)
    for value in body.extra:
        need(value)


def _fuses(body: _Body, steps: Sequence[Step]) -> bool:
    """Whether a dropout's mask and its value, which are two ops to the planner, come in one call here."""
    if len(steps) < 2 or not steps[0].op.endswith("_mask"):
        return False
    mask, value = body.graph.op[steps[0].op], body.graph.op[steps[1].op]
    return (
        mask.target == "aten.native_dropout.default"
        and value.name == mask.name.removesuffix("_mask")
        and value.args[0] == mask.args[0]
        and steps[0].again == steps[1].again
    )


def _step(body: _Body, steps: list[Step]) -> None:
    op = body.graph.op[steps[-1].op]
    _provenance(body, op, steps[-1].again)
    for step in steps:
        for value in body.graph.op[step.op].inputs:
            _name_views(body, value)
    if op.target == RNG_STATE:
        body.rng = True
        body.lines.append(f"{body.names[op.outputs[0] or '']} = rng_state({body.device})")
        return
    outputs, expression = _expression(body, steps)
    dead = [r for s in steps for r in s.frees if r in outputs]
    kept = [o for o in outputs if o is not None and o not in dead]
    note = "recompute" if steps[-1].again and body.call.phase == "backward" else ""
    if steps[-1].overwrites is not None:
        note = f"{note}, in place of {body.names[steps[-1].overwrites]}".removeprefix(", ")
    line, dead = _assign(body, op, outputs, kept, expression, dead, note)
    replays = body.graph.op[steps[0].op].replays if steps[0].again else None
    if replays is not None:
        body.rng = True
        body.lines.append(f"with replaying({body.names[replays]}, {body.device}):")
        line = "    " + line
    body.lines.append(line)
    if not steps[-1].again:
        _write_buffers(body, op)
    body.live.update({body.names[o]: None for o in outputs if o is not None and o not in dead})
    _free(body, [*(r for s in steps for r in s.frees if r not in outputs), *dead])


def _expression(body: _Body, steps: list[Step]) -> tuple[tuple[str | None, ...], str]:
    op = body.graph.op[steps[0].op]
    outputs = op.outputs
    if len(steps) == 2:
        outputs = (body.graph.op[steps[1].op].outputs[0], op.outputs[1])
    step = steps[0]
    text = call(
        body.graph,
        op,
        lambda value: _show(body, value),
        body.device,
        again=step.again,
        overwrites=step.overwrites if len(steps) == 1 else None,
    )
    return outputs, text


def _assign(
    body: _Body,
    op: Op,
    outputs: tuple[str | None, ...],
    kept: list[str],
    expression: str,
    dead: list[str],
    note: str,
) -> tuple[str, list[str]]:
    """The line, and the outputs that still have to be freed after it."""
    written = [v for v, _ in op.writes_buffer if v in outputs]
    kept += [v for v in written if v not in kept and not _adds_to_buffer(body, op)]
    note = f"  # {note}" if note else ""
    if len(outputs) == 1 and not op.tupled:
        if _adds_to_buffer(body, op) and not [k for k in kept if k not in written]:
            buffer = body.name(op.writes_buffer[0][1])
            return f"{buffer}.add_({argument(op.args[1], lambda v: _show(body, v), body.device)})", []
        name = outputs[0]
        return f"{body.names[name or '']} = {expression}  # {_shape(body, name or '')}{note.replace('  #', ',')}", dead
    shapes = ", ".join(_shape(body, k) for k in kept)
    comment = f"  # {shapes}{note.replace('  #', ',')}" if shapes else note
    if len(kept) == 1:
        return f"{body.names[kept[0]]} = {expression}[{outputs.index(kept[0])}]{comment}", []
    named = [o for o in outputs if o is not None]
    left = ", ".join("_" if o is None else body.names[o] for o in outputs)
    return f"{left} = {expression}{comment}", [d for d in dead if d in named] + (["_"] if None in outputs else [])


def _adds_to_buffer(body: _Body, op: Op) -> bool:
    """`buffer + n` that goes back into the buffer and nowhere else."""
    if op.target != "aten.add.Tensor" or len(op.writes_buffer) != 1 or op.kwargs:
        return False
    value, buffer = op.writes_buffer[0]
    read = any(value in o.inputs for o in body.graph.ops)
    return isinstance(op.args[0], Ref) and op.args[0].name == buffer and not read


def _write_buffers(body: _Body, op: Op) -> None:
    if _adds_to_buffer(body, op):
        return
    for value, buffer in op.writes_buffer:
        body.lines.append(f"{body.name(buffer)}.copy_({body.names[value]})")


def _free(body: _Body, roots: list[str]) -> None:
    gone = [n for r in roots for n in ([r] if r == "_" else [body.names[r], *body.holders.pop(r, [])])]
    for name in gone:
        body.live.pop(name, None)
    if gone:
        body.lines.append(f"del {', '.join(dict.fromkeys(gone))}")
    for root in roots:
        for view in [v for v in body.shown if body.graph.index[v].root == root]:
            del body.shown[view]


def _provenance(body: _Body, op: Op, again: bool) -> None:
    """A comment wherever the statement of the user's that the lines come from changes."""
    source = body.graph.op[op.derives] if op.derives is not None else op
    text = source.origin.text
    if not text:
        return
    comment = f"# grad of {text}" if op.backward else f"# {text}"
    if comment != body.comment:
        body.comment = comment
        body.lines.append(comment)


def _show(body: _Body, value: str) -> str:
    """The expression for a value: a name, or its view written out."""
    if value in body.shown:
        return body.shown[value]
    op = body.graph.maker.get(value)
    if op is None or not op.view:
        return body.name(value)
    return _view(body, op, value)


def _view(body: _Body, op: Op, value: str) -> str:
    text = call(body.graph, op, lambda v: _show(body, v), body.device, again=False, overwrites=None)
    return f"{text}[{op.outputs.index(value)}]" if op.tupled else text


def _name_views(body: _Body, value: str) -> None:
    """Give a line to each view that is needed more than once, right before its first use."""
    op = body.graph.maker.get(value)
    if op is None or not op.view or value in body.shown:
        return
    _name_views(body, op.inputs[0])
    together = op.tupled and all(o is not None and body.uses.get(o) for o in op.outputs) and len(op.outputs) > 1
    if together:
        names = [_shown(body, o) for o in op.outputs if o is not None]
        text = call(body.graph, op, lambda v: _show(body, v), body.device, again=False, overwrites=None)
        body.lines.append(f"{', '.join(names)} = {text}")
    elif body.uses.get(value, 0) > 1:
        text = _view(body, op, value)
        body.lines.append(f"{_shown(body, value)} = {text}")


def _shown(body: _Body, value: str) -> str:
    name = body.names[value]
    body.shown[value] = name
    body.holders.setdefault(body.graph.index[value].root, []).append(name)
    return name


def _shape(body: _Body, value: str) -> str:
    v = body.graph.index[value]
    kind = v.dtype.rstrip("0123456789")
    dtype = "bool" if v.dtype == "bool" else f"{_SHORT.get(kind, kind)}{v.dtype[len(kind) :]}"
    return f"{dtype}[{', '.join(map(str, v.shape))}]"
