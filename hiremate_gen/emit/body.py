"""The lines of a function: one op a line, every `del` in plain sight."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten

from hiremate_gen.emit.calls import argument, atom, call, single
from hiremate_gen.emit.comments import Comments, comments
from hiremate_gen.emit.identifiers import quoted
from hiremate_gen.emit.idioms import idiom
from hiremate_gen.emit.names import Names
from hiremate_gen.emit.products import RESHAPES, is_contiguous, reads
from hiremate_gen.ir import Call, Graph, Literal, Op, Ref, Step
from hiremate_gen.ir.graph import RNG_STATE

_SHORT = {"float": "f", "int": "i", "uint": "u", "bfloat": "bf", "complex": "c"}
_ROOM = 84  # columns of a line, its indentation left out


@dataclass
class Body:
    """A function as it is written: `at` has the line of each op, `lines` may hold several rows each."""

    graph: Graph
    call: Call
    names: Names
    tuples: Mapping[str, str]  # static value -> the dictionary that brings it
    extra: tuple[str, ...]  # further values to return
    lines: list[str] = field(default_factory=list)
    at: dict[str, int] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)  # views that have a name here
    holders: dict[str, list[str]] = field(default_factory=dict)  # root -> names of its views here
    uses: dict[str, int] = field(default_factory=dict)
    comments: Comments = field(init=False)
    mark: str = ""  # at the end of the lines being written
    rng: bool = False
    live: dict[str, None] = field(default_factory=dict)  # names of tensors that are there

    def __post_init__(self) -> None:
        self.comments = comments(self.graph, self.call, self.names)

    def name(self, value: str) -> str:
        """How the function calls a value that is no view."""
        owner = self.tuples.get(value)
        return f"{owner}[{quoted(self.names.path(value))}]" if owner else self.names[value]

    @property
    def device(self) -> str:
        """Source of the device that the function works on; one that is given nothing has only its kind."""
        kind = self.graph.device.partition(":")[0]
        return next((f"{name}.device" for name in self.live), f"torch.device({quoted(kind)})")

    def show(self, value: str) -> str:
        """The expression for a value: a name, or its view written out."""
        if value in self.shown:
            return self.shown[value]
        op = self.graph.maker.get(value)
        if value in self.names.faces or op is None or not op.view:
            own, face = self.graph.index[value], self.graph.index[self.names.face(value)]
            as_made = value not in self.names.faces and own.shape != face.shape
            return self.name(value) + (f".view({', '.join(map(str, own.shape))})" if as_made else "")
        return self.view(op, value)

    def view(self, op: Op, value: str) -> str:
        """A view as the ops that make it; of several reshapes in a row the last is enough."""
        base = op.inputs[0]
        while op.target in RESHAPES and self._only_reshapes(base):
            base = self.graph.maker[base].inputs[0]
        if op.target in RESHAPES and self.graph.index[base].shape == self.graph.index[value].shape:
            return self.show(base)

        def inner(v: str) -> str:
            return self.show(base if v == op.inputs[0] else v)

        wide, flat = self.graph.index[self.names.face(base)], self.graph.index[value]
        rows = op.target in RESHAPES and len(flat.shape) == 2 < len(wide.shape) and is_contiguous(wide)
        if rows and wide.shape[-1] == flat.shape[-1]:
            return f"{atom(self.show(base))}.flatten(0, {len(wide.shape) - 2})"
        text = call(self.graph, op, inner, self.device, again=False, overwrites=None)
        return f"{text}[{op.outputs.index(value)}]" if op.tupled else text

    def _only_reshapes(self, value: str) -> bool:
        op = self.graph.maker.get(value)
        inline = op is not None and value not in self.shown and value not in self.names.faces
        return inline and op.target in RESHAPES and is_contiguous(self.graph.index[op.inputs[0]])  # type: ignore[union-attr]

    def shape(self, value: str) -> str:
        """`f32[16, 128]`, of what the name stands for."""
        v = self.graph.index[self.names.face(value)]
        kind = v.dtype.rstrip("0123456789")
        dtype = "bool" if v.dtype == "bool" else f"{_SHORT.get(kind, kind)}{v.dtype[len(kind) :]}"
        return f"{dtype}[{', '.join(map(str, v.shape))}]"


def write_body(body: Body) -> None:
    """Fill `body.lines`."""
    _count(body)
    steps = list(body.call.steps)
    at = 0
    while at < len(steps):
        count = 2 if _fuses(body, steps[at:]) else 1
        _step(body, steps[at : at + count], at + count - 1)
        at += count
    if body.lines and body.lines[-1].startswith("del "):
        del body.lines[-1]  # what the function still holds dies when it returns


def _count(body: Body) -> None:
    """How often each view is needed: one that is needed twice gets a line of its own."""

    def need(value: str) -> None:
        op = body.graph.maker.get(value)
        if op is None or not op.view or value in body.names.faces:
            return
        body.uses[value] = body.uses.get(value, 0) + 1
        if body.uses[value] == 1:
            need(op.inputs[0])

    for step in body.call.steps:
        for value in reads(body.graph, body.graph.op[step.op]):
            need(value)
    for value in body.extra:
        need(value)


def _fuses(body: Body, steps: Sequence[Step]) -> bool:
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


def _step(body: Body, steps: list[Step], last: int) -> None:
    """`last` is the number of the last of `steps` in the call."""
    op = body.graph.op[steps[-1].op]
    for number in range(last - len(steps) + 1, last + 1):
        _provenance(body, number)
    body.mark = "recompute: " if last in body.comments.marked else ""
    for step in steps:
        for value in reads(body.graph, body.graph.op[step.op]):
            _name_views(body, value)
        body.at[step.op] = len(body.lines)
    if op.target == RNG_STATE:
        body.rng = True
        body.lines.append(f"{body.names[op.outputs[0] or '']} = rng_state({body.device})")
        return
    outputs = _outputs(body, steps)
    dead = [r for s in steps for r in s.frees if r in outputs]
    lines, dead = _assign(body, steps, outputs, dead)
    replays = body.graph.op[steps[0].op].replays if steps[0].again else None
    if replays is not None:
        body.rng = True
        body.lines.append(f"with replaying({body.names[replays]}, {body.device}):")
        lines = [f"    {line}" for line in lines]
    body.lines += lines
    if not steps[-1].again:
        _write_buffers(body, op)
    body.live.update({body.names[o]: None for o in outputs if o is not None and o not in dead})
    _free(body, [*(r for s in steps for r in s.frees if r not in outputs), *dead])


def _outputs(body: Body, steps: list[Step]) -> tuple[str | None, ...]:
    op = body.graph.op[steps[0].op]
    return op.outputs if len(steps) == 1 else (body.graph.op[steps[1].op].outputs[0], op.outputs[1])


def _assign(
    body: Body, steps: list[Step], outputs: tuple[str | None, ...], dead: list[str]
) -> tuple[list[str], list[str]]:
    """The lines, and the outputs that still have to be freed after them."""
    op, step = body.graph.op[steps[0].op], steps[0]
    written = [v for v, _ in op.writes_buffer if v in outputs]
    kept = [o for o in outputs if o is not None and o not in dead]
    kept += [v for v in written if v not in kept and not _adds_to_buffer(body, op)]
    if not op.tupled:
        if _adds_to_buffer(body, op) and not [k for k in kept if k not in written]:
            buffer = body.name(op.writes_buffer[0][1])
            return [f"{buffer}.add_({argument(op.args[1], body.show, body.device)})"], []
        return _one(body, op, step, outputs[0] or ""), dead
    first = kept == [outputs[0]] and single(body.graph, op)
    overwrites = step.overwrites if len(steps) == 1 else None
    text = call(body.graph, op, body.show, body.device, again=step.again, overwrites=overwrites, first=first)
    shapes = ", ".join(body.shape(k) for k in kept)
    comment = f"  # {body.mark}{shapes}" if shapes else ""
    if len(kept) == 1:
        name = body.names[kept[0]]
        if not first and all(o is None or o == kept[0] for o in outputs) and _masked(op, len(outputs)):
            names = ["_"] * len(outputs)  # the others are None
            names[outputs.index(kept[0])] = name
            return [f"{', '.join(names)} = {text}{comment}"], []
        item = "" if first else f"[{outputs.index(kept[0])}]"
        return [f"{name} = {text}{item}{comment}"], []
    named = [o for o in outputs if o is not None]
    left = ", ".join("_" if o is None else body.names[o] for o in outputs)
    return [f"{left} = {text}{comment}"], [d for d in dead if d in named] + (["_"] if None in outputs else [])


def _masked(op: Op, count: int) -> bool:
    """Whether the op makes one of `count` gradients alone, as its mask tells it."""
    mask = op.args[-1]
    flags = [a.text for a in mask if isinstance(a, Literal)] if isinstance(mask, tuple) else []
    return len(flags) == count and flags.count("True") == 1 and flags.count("False") == count - 1


def _one(body: Body, op: Op, step: Step, output: str) -> list[str]:
    """An op with one result, and that in the shape that its name stands for: on the same line where there is room."""
    name, shape = body.names[output], body.graph.index[body.names.face(output)].shape
    found = None
    if step.overwrites is None and not (step.again and op.again_args is not None):
        found = idiom(body.graph, op, body.show, shape)
    if found is None:
        text = call(body.graph, op, body.show, body.device, again=step.again, overwrites=step.overwrites)
        found = text, body.graph.index[output].shape
    text, given = found
    comment = f"  # {body.mark}{body.shape(output)}"
    if given == shape:
        return [f"{name} = {text}{comment}"]
    view = f".view({', '.join(map(str, shape))})"
    one = f"{name} = {atom(text)}{view}{comment}"
    if len(one) <= _ROOM:
        return [one]
    two = f"{name} = {name}{view}"
    return [f"{name} = {text}", two + (comment if len(two + comment) <= _ROOM else "")]


def _adds_to_buffer(body: Body, op: Op) -> bool:
    """`buffer + n` that goes back into the buffer and nowhere else."""
    if op.target != "aten.add.Tensor" or len(op.writes_buffer) != 1 or op.kwargs:
        return False
    value, buffer = op.writes_buffer[0]
    read = any(value in o.inputs for o in body.graph.ops)
    return isinstance(op.args[0], Ref) and op.args[0].name == buffer and not read


def _write_buffers(body: Body, op: Op) -> None:
    if _adds_to_buffer(body, op):
        return
    for value, buffer in op.writes_buffer:
        body.lines.append(f"{body.name(buffer)}.copy_({body.names[value]})")


def _free(body: Body, roots: list[str]) -> None:
    gone = [n for r in roots for n in ([r] if r == "_" else [body.names[r], *body.holders.pop(r, [])])]
    for name in gone:
        body.live.pop(name, None)
    if gone:
        body.lines.append(f"del {', '.join(dict.fromkeys(gone))}")
    for root in roots:
        for view in [v for v in body.shown if body.graph.index[v].root == root]:
            del body.shown[view]


def _provenance(body: Body, number: int) -> None:
    """The comment over the step with this number, if there is one."""
    comment = body.comments.above.get(number)
    if comment is not None:
        body.lines.append(comment if len(comment) <= _ROOM else shorten(comment, _ROOM, placeholder=" ..."))


def _name_views(body: Body, value: str) -> None:
    """Give a line to each view that is needed more than once, right before its first use."""
    op = body.graph.maker.get(value)
    if op is None or not op.view or value in body.shown or value in body.names.faces:
        return
    if body.graph.index[body.graph.index[value].root].static and op.target == "aten.t.default":
        return
    _name_views(body, op.inputs[0])
    used = [o for o in op.outputs if o is not None and body.uses.get(o)]
    if op.tupled and len(used) > 1:
        text = call(body.graph, op, body.show, body.device, again=False, overwrites=None)
        names = [_shown(body, o) if o in used else "_" for o in op.outputs if o is not None]
        if "_" in names:
            body.holders.setdefault(body.graph.index[value].root, []).append("_")
        body.lines.append(f"{', '.join(names)} = {text}")
    elif body.uses.get(value, 0) > 1:
        text = body.view(op, value)
        if op.target not in RESHAPES or not re.fullmatch(r"\w+(\.\w+\([^()]*\))?", text):
            body.lines.append(f"{_shown(body, value)} = {text}")


def _shown(body: Body, value: str) -> str:
    name = body.names[value]
    body.shown[value] = name
    body.holders.setdefault(body.graph.index[value].root, []).append(name)
    return name
