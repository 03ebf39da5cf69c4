"""Ops said the way the emitted file says them: dropout by its mask, batch norm and buffers as eager writes them."""

from __future__ import annotations

from dataclasses import replace

from hiremate_gen.errors import UnsupportedError
from hiremate_gen.ir import Literal, Op, Ref, Value
from hiremate_gen.ir.graph import RNG_STATE

RNG_STATE_BYTES = 5056  # of torch's CPU generator; a CUDA generator's is 16

_NONE = Literal("None")
_BATCH_NORM = "aten._native_batch_norm_legit_functional.default"
_CONVERSION = "aten._to_copy.default"
_BATCH_NORM_BACKWARD = "aten.native_batch_norm_backward.default"


def rewrite(ops: tuple[Op, ...], values: dict[str, Value], writes: tuple[tuple[str, str], ...]) -> tuple[Op, ...]:
    """`writes` pairs values with the buffers that take them."""
    ops, writes = _batch_norm(ops, values, writes)
    ops = _buffer_writes(ops, values, writes)
    ops = tuple(new for op in ops for new in (_dropout(op, values) if "native_dropout.default" in op.target else (op,)))
    ops = tuple(new for op in ops for new in (_replayable(op, values) if op.random and not op.backward else (op,)))
    return tuple(o for o in ops if not o.backward) + tuple(o for o in ops if o.backward)


def reserve_for_loss(ops: tuple[Op, ...], values: dict[str, Value]) -> tuple[Op, ...]:
    """Room for a loss outside the model, as workspace of the backward op that first reads the gradient that it sends.

    The backward of a mean of squares holds four tensors of the output's size at once, one of them the gradient.
    """
    done: list[Op] = []
    seen: set[str] = set()
    for op in ops:
        roots = {values[n].root for n in op.inputs} if not op.view else set()
        fresh = {r for r in roots if values[r].kind == "tangent" and values[r].shape} - seen
        seen |= fresh
        room = sum(3 * values[r].bytes for r in fresh) - sum(values[o].bytes for o in op.outputs if o is not None)
        done.append(replace(op, workspace_bytes=max(op.workspace_bytes, room)) if fresh else op)
    return tuple(done)


def split_gradients(
    ops: tuple[Op, ...], values: dict[str, Value], gradients: tuple[tuple[str, str], ...], kept: set[str | None]
) -> tuple[tuple[Op, ...], tuple[tuple[str, str], ...]]:
    """Gradients of values used several times as the parts that autograd would add up itself.

    Added up in the graph they would be one part, and a step with two forwards before its backward would round
    differently: (a + b) + (c + d) in place of ((a + b) + c) + d.
    """
    makers = {name: op for op in ops for name in op.outputs if name is not None}
    readers: dict[str, int] = {}
    for name in (n for op in ops for n in op.inputs):
        readers[name] = readers.get(name, 0) + 1
    gone: set[str] = set()

    def parts(name: str) -> list[str]:
        op = makers.get(name)
        adds = (
            op is not None and op.backward and op.derives is None and op.target == "aten.add.Tensor" and not op.kwargs
        )
        if op is None or not adds or readers.get(name, 0) or name in kept or len(op.inputs) != 2:
            return [name]
        gone.add(op.name)
        values.pop(name)
        first, second = op.inputs
        readers[first] -= 1
        readers[second] -= 1
        return [*parts(first), second]

    split = [(parameter, part) for parameter, gradient in gradients for part in parts(gradient)]
    return tuple(op for op in ops if op.name not in gone), tuple(split)


def _batch_norm(
    ops: tuple[Op, ...], values: dict[str, Value], writes: tuple[tuple[str, str], ...]
) -> tuple[tuple[Op, ...], tuple[tuple[str, str], ...]]:
    """Batch norm in training writes its running statistics itself, once; a second run is given none to write.

    A module called several times updates the same buffers each time: what an earlier call made of them is, in the
    file, the buffer itself.
    """
    written = dict(writes)
    buffers: dict[str, str] = {}  # new statistics -> the buffer that they go to
    done = []
    for op in ops:
        if op.target == _BATCH_NORM:
            old = [Ref(buffers.get(a.name, a.name)) if isinstance(a, Ref) else a for a in op.args[3:5]]
            op = replace(op, args=(*op.args[:3], *old, *op.args[5:]))
            for fresh, buffer in zip(op.outputs[3:], old, strict=True):
                if fresh is not None and isinstance(buffer, Ref):
                    buffers[fresh] = buffer.name
                    if written.get(fresh, buffer.name) != buffer.name:
                        message = "batch norm's running statistics go to another buffer than they came from"
                        raise UnsupportedError(message)
            again = (*op.args[:3], _NONE, _NONE, *op.args[5:])
            op = replace(
                op, target="aten.native_batch_norm.default", outputs=op.outputs[:3], again_args=again, recomputable=True
            )
        elif op.target == _BATCH_NORM_BACKWARD:
            # In training the running statistics are not read.
            op = replace(op, args=(*op.args[:3], _NONE, _NONE, *op.args[5:]))
        elif op.target == _CONVERSION and op.outputs[0] in written and set(op.inputs) <= buffers.keys():
            # On its way to a buffer of another dtype, in which the kernel itself writes it.
            buffers[op.outputs[0]] = buffers[op.inputs[0]]
            continue
        done.append(op)
    if any(name in buffers for op in done for name in op.inputs):
        raise UnsupportedError("the model reads a batch norm's running statistics in the step that updates them")
    for name in buffers:
        values.pop(name)
    return tuple(done), tuple(w for w in writes if w[0] not in buffers)


def _buffer_writes(
    ops: tuple[Op, ...], values: dict[str, Value], writes: tuple[tuple[str, str], ...]
) -> tuple[Op, ...]:
    """Let the op that makes a buffer's new value write it; whoever else reads the old value reads a copy."""
    producer = {name: op for op in ops for name in op.outputs if name is not None}
    by_op: dict[str, list[tuple[str, str]]] = {}
    copies: list[Op] = []
    renamed: dict[str, str] = {}
    for name, buffer in writes:
        writer = producer.get(name)
        if writer is None:
            raise UnsupportedError(
                f"buffer {values[buffer].path} takes the value of another tensor: it cannot be planned"
            )
        by_op.setdefault(writer.name, []).append((name, buffer))
        if any(buffer in op.inputs for op in ops if op is not writer):
            old = values[buffer]
            copy = f"{buffer}_before"
            values[copy] = replace(old, name=copy, kind="activation", root=copy, path="")
            copies.append(Op(copy, "aten.clone.default", (Ref(buffer),), (), (copy,), False, False, recomputable=False))
            renamed[buffer] = copy
    done = []
    for op in ops:
        if op.name in by_op:
            op = replace(op, writes_buffer=tuple(by_op[op.name]), recomputable=False)
        done.append(_renamed(op, renamed, values) if renamed else op)
    return (*copies, *done)


def _renamed(op: Op, renamed: dict[str, str], values: dict[str, Value]) -> Op:
    def swap(arg: object) -> object:
        if isinstance(arg, Ref):
            return Ref(renamed.get(arg.name, arg.name))
        return tuple(swap(a) for a in arg) if isinstance(arg, tuple) else arg

    for name in op.outputs:
        if name is not None and op.view and values[name].root in renamed:
            values[name] = replace(values[name], root=renamed[values[name].root], kind="activation")
    kwargs = tuple((k, swap(v)) for k, v in op.kwargs)
    return replace(op, args=swap(op.args), kwargs=kwargs)  # type: ignore[arg-type]


def _dropout(op: Op, values: dict[str, Value]) -> tuple[Op, ...]:
    """The mask, which is random, and the value, which is not: given the mask it can be made again without drawing.

    native_dropout computes `x * mask * scale`, as native_dropout_backward does with a gradient in place of x.
    """
    out, mask = op.outputs
    x, rate = op.args[0], float(op.args[1].text)  # type: ignore[union-attr]
    if mask is None:
        mask = f"{op.name}_1"
        like = values[out or ""]
        values[mask] = replace(like, name=mask, root=mask, dtype="bool", bytes=_elements(like))
    size = _elements(values[mask])
    scale = repr(0.0 if rate == 1.0 else 1.0 / (1.0 - rate))
    draw = replace(
        op,
        name=f"{op.name}_mask",
        args=(x, op.args[1], Literal("True")),
        outputs=(None, mask),
        time_s=op.time_s * 0.75,
        workspace_bytes=op.workspace_bytes + (values[out].bytes if out else 4 * size),
    )
    if out is None:
        return (draw,)
    apply = replace(
        op,
        target="aten.native_dropout_backward.default",
        args=(x, Ref(mask), Literal(scale)),
        outputs=(out,),
        tupled=False,
        random=False,
        time_s=op.time_s * 0.25,
        workspace_bytes=values[out].bytes + 128,  # the mask as numbers of the value's type
    )
    return draw, apply


def _elements(value: Value) -> int:
    count = 1
    for n in value.shape:
        count *= n
    return count


def _replayable(op: Op, values: dict[str, Value]) -> tuple[Op, ...]:
    """Take the generator's state before a random op, so that it can draw the same numbers again."""
    state = f"{op.name}_rng"
    values[state] = Value(state, (RNG_STATE_BYTES,), (1,), "uint8", "rng", state, RNG_STATE_BYTES)
    take = Op(state, RNG_STATE, (), (), (state,), False, False, recomputable=False, origin=op.origin)
    again = replace(op, replays=state, workspace_bytes=op.workspace_bytes + RNG_STATE_BYTES)
    return take, again
