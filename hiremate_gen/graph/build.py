"""The joint fx graph as an `ir.Graph`."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import fx
from torch._functorch._aot_autograd import descriptors as d

from hiremate_gen.errors import UnsupportedError
from hiremate_gen.graph.arguments import argument, idle, source_of
from hiremate_gen.graph.costs import Costs, op_call
from hiremate_gen.graph.in_place import in_first, lies_in_first, overwritable, read_once
from hiremate_gen.graph.kinds import is_random, is_view, may_run_again
from hiremate_gen.graph.measure import OpCall
from hiremate_gen.graph.origins import Origins
from hiremate_gen.graph.profile import Measured
from hiremate_gen.graph.rewrite import reserve_for_loss, rewrite, split_gradients
from hiremate_gen.graph.views import same_view, shortened
from hiremate_gen.graph.workspace import output_bytes
from hiremate_gen.ir import Graph, Literal, Op, Output, Ref, Value

aten = torch.ops.aten
_WIDEST = {int: torch.int64, float: torch.float64, complex: torch.complex128, bool: torch.bool}


@dataclass
class Reading:
    """What has been read of the fx graph so far."""

    origins: Origins
    costs: Costs
    constants: dict[str, str]
    values: dict[str, Value] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)
    names: dict[fx.Node, str] = field(default_factory=dict)  # node -> value that it stands for
    tuples: dict[fx.Node, list[str | None]] = field(default_factory=dict)  # node -> values of its items
    numbers: dict[fx.Node, Literal] = field(default_factory=dict)  # views of Python numbers -> what they are
    forward: dict[int, str] = field(default_factory=dict)  # autograd's sequence number -> forward op

    def argument_of(self, node: fx.Node) -> Ref | Literal:
        return self.numbers.get(node) or Ref(self.names[node])


def build(
    graph_module: fx.GraphModule,
    *,
    origins: Origins,
    costs: Costs,
    leaf_constants: tuple[str | None, ...],
    detached: frozenset[int],
    constants: dict[str, str],
    input_paths: tuple[str, ...],
    shared: frozenset[str],
    device: str,
) -> Graph:
    """Read the graph of `trace.Traced`.

    `input_paths` is the source text of each flat example input; `shared` are the paths of parameters and buffers
    that have no memory of their own.
    `leaf_constants` has, for each leaf that the model returns, None for a tensor and else its source text; `detached`
    are the numbers of those that take no gradient;
    `constants` the source text of tensors that forward makes from Python values.
    Raises UnsupportedError for ops that cannot be planned.
    """
    reading = Reading(origins, costs, constants)
    for node in graph_module.graph.nodes:
        if node.op == "placeholder":
            _placeholder(reading, node, input_paths, shared)
        elif node.op == "get_attr":
            raise UnsupportedError(f"the trace holds a tensor of its own ({node.target})")
        elif node.op == "call_function":
            _call(reading, node)
    return _finish(reading, graph_module, leaf_constants, detached, device)


def _placeholder(reading: Reading, node: fx.Node, input_paths: tuple[str, ...], shared: frozenset[str]) -> None:
    desc = node.meta["desc"]
    reading.names[node] = node.name
    if isinstance(desc, d.ParamAOTInput):
        kind, path = "parameter", desc.target
    elif isinstance(desc, d.BufferAOTInput):
        made = reading.constants.get(desc.target)
        kind, path = ("buffer", desc.target) if made is None else ("constant", made)
    elif isinstance(desc, d.PlainAOTInput):
        kind, path = "input", input_paths[desc.idx]
    elif isinstance(desc, d.TangentAOTInput):
        kind, path = "tangent", ""
    else:
        raise UnsupportedError(f"the model takes an input that cannot be planned ({desc.expr()})")
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        reading.values[node.name] = Value(node.name, (), (), "object", kind, node.name, 0, path)
    else:
        found = _value(node.name, value, kind, node.name, path)
        alone = not (kind in ("parameter", "buffer") and path in shared)
        reading.values[node.name] = found if alone else replace(found, bytes=0)


def _value(name: str, tensor: torch.Tensor, kind: str, root: str, path: str = "") -> Value:
    if any(isinstance(s, torch.SymInt) for s in tensor.shape):
        raise UnsupportedError("a tensor's shape depends on values, so its memory cannot be planned")
    if tensor.layout != torch.strided:
        raise UnsupportedError(f"{path or name} is {tensor.layout}: only dense tensors can be planned")
    size = tensor.untyped_storage().nbytes() if root == name else 0
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Value(name, tuple(tensor.shape), tuple(tensor.stride()), dtype, kind, root, size, path)


def _call(reading: Reading, node: fx.Node) -> None:
    if node.target is operator.getitem:
        source, item = node.args
        if source in reading.tuples:
            name = reading.tuples[source][item]  # type: ignore[index]
            assert name is not None
            reading.names[node] = name
        return
    if not isinstance(node.target, torch._ops.OpOverload):
        raise UnsupportedError(f"{node.target} is no ATen op", where=reading.origins.where(node))
    if node.target is aten.detach.default:
        reading.names[node] = reading.names[node.args[0]]  # type: ignore[index]
        return
    if is_view(node.target) and isinstance(node.args[0], (int, float, complex)):
        # Autograd's formulas conjugate a number as they do a tensor.
        number = torch.tensor(node.args[0], dtype=_WIDEST[type(node.args[0])])
        reading.numbers[node] = Literal(source_of(node.target(number, *node.args[1:]).item()))
        return
    if is_view(node.target):
        ancestor = same_view(node)
        if ancestor is not None and ancestor in reading.names:
            reading.names[node] = reading.names[ancestor]
            return
    if not node.users and not node.target._schema.is_mutable:
        return
    _op(reading, node, node.target)


def _op(reading: Reading, node: fx.Node, target: torch._ops.OpOverload) -> None:
    args = tuple(argument(a, reading.argument_of) for a in (shortened(node) if is_view(target) else node.args))
    kwargs = tuple((k, argument(v, reading.argument_of)) for k, v in sorted(node.kwargs.items()) if not idle(k, v))
    backward = bool(node.meta.get("autograd_backward")) or any(_is_backward(reading, n) for n in node.all_input_nodes)
    view = is_view(target)
    random = is_random(target, node.args)
    cost = Measured(0.0, 0) if view else reading.costs.of(op_call(node))
    outputs = _outputs(reading, node, backward, view)
    sequence = node.meta.get("seq_nr", -1)
    if not backward and not view:
        reading.forward.setdefault(sequence, node.name)
    op = Op(
        name=node.name,
        target=str(target),
        args=args,
        kwargs=kwargs,
        outputs=outputs,
        tupled=isinstance(node.meta["val"], (tuple, list)),
        backward=backward,
        view=view,
        random=random,
        recomputable=not backward and may_run_again(target, node.args),
        time_s=cost.time_s,
        workspace_bytes=cost.workspace_bytes + _unread_bytes(node, outputs),
        derives=reading.forward.get(sequence) if backward and not _adds_gradients(node) else None,
        origin=reading.origins.of(node),
    )
    if lies_in_first(node, target):
        reading.ops.extend(_in_first(reading, op, node))
    else:
        reading.ops.append(replace(op, inplace=overwritable(reading.values, op, target)))


def _adds_gradients(node: fx.Node) -> bool:
    """Whether autograd added up the gradients of a value with several readers here."""
    return "Gradient addition node" in str(node.meta.get("stack_trace"))


def _is_backward(reading: Reading, node: fx.Node) -> bool:
    name = reading.names.get(node)
    return name is not None and reading.values[name].kind in ("gradient", "tangent")


def _outputs(reading: Reading, node: fx.Node, backward: bool, view: bool) -> tuple[str | None, ...]:
    value = node.meta["val"]
    tupled = isinstance(value, (tuple, list))
    items: list[Any] = list(value) if tupled else [value]
    if any(isinstance(t, torch.Tensor) and t.layout != torch.strided for t in items):
        raise UnsupportedError(
            f"{node.target} makes a sparse tensor: only dense ones can be planned", where=reading.origins.where(node)
        )
    used = {n.args[1] for n in node.users if n.target is operator.getitem} if tupled else {0}
    sizes = () if view else output_bytes(*op_call(node))
    base = reading.values[reading.names[node.args[0]]] if view and isinstance(node.args[0], fx.Node) else None
    outputs: list[str | None] = []
    for index, item in enumerate(items):
        if index not in used or not isinstance(item, torch.Tensor):
            outputs.append(None)
            continue
        name = f"{node.name}_{index}" if tupled else node.name
        kind = base.kind if base is not None else "gradient" if backward else "activation"
        value = _value(name, item, kind, base.root if base is not None else name)
        # A kernel may keep more than the fake tensor says: reduced losses keep the storage of all their terms.
        reading.values[name] = replace(value, bytes=max(value.bytes, sizes[index])) if sizes else value
        outputs.append(name)
    reading.tuples[node] = outputs
    if not tupled:
        reading.names[node] = node.name
    return tuple(outputs)


def _unread_bytes(node: fx.Node, outputs: tuple[str | None, ...]) -> int:
    """Bytes of the results that nothing reads: they are there while the op runs."""
    value = node.meta["val"]
    items = value if isinstance(value, (tuple, list)) else [value]
    unread = [t for t, name in zip(items, outputs, strict=True) if name is None and isinstance(t, torch.Tensor)]
    return sum(t.untyped_storage().nbytes() for t in unread)


def _in_first(reading: Reading, op: Op, node: fx.Node) -> tuple[Op, ...]:
    """`op` with its result in the first operand, always: in a copy where others read that, and never a second time."""
    first = node.args[0]
    op = replace(op, recomputable=False)
    if isinstance(first, fx.Node) and not read_once(first, reading.names[first]):
        copy, value = f"{node.name}_over", first.meta["val"]
        reading.values[copy] = _value(copy, value.clone(), "activation", copy)
        cost = reading.costs.of(OpCall("aten.clone.default", (value,), {}, value))
        made = replace(
            op,
            name=copy,
            target="aten.clone.default",
            args=(Ref(reading.names[first]),),
            kwargs=(),
            outputs=(copy,),
            time_s=cost.time_s,
            workspace_bytes=cost.workspace_bytes,
        )
        op = replace(op, args=(Ref(copy), *op.args[1:]))
        return made, replace(op, inplace=in_first(reading.values, op))
    return (replace(op, inplace=in_first(reading.values, op)),)


def _finish(
    reading: Reading,
    graph_module: fx.GraphModule,
    constants: tuple[str | None, ...],
    detached: frozenset[int],
    device: str,
) -> Graph:
    output = next(n for n in graph_module.graph.nodes if n.op == "output")
    outputs: list[Output] = []
    gradients: list[tuple[str, str]] = []
    writes: list[tuple[str, str]] = []  # value, buffer path
    tangents = {
        n.meta["desc"].output.idx: n.name
        for n in graph_module.graph.nodes
        if _is_tangent(n) and isinstance(n.meta["desc"].output, d.PlainAOTOutput)
    }
    primals = {n.meta["desc"]: n.name for n in graph_module.graph.nodes if n.op == "placeholder"}
    for node, desc in zip(output.args[0], output.meta["desc"], strict=True):
        name = reading.names[node] if isinstance(node, fx.Node) else None
        if desc is None:
            continue  # the place of a gradient that there is not
        if isinstance(desc, d.InputMutationAOTOutput):
            if not isinstance(desc.mutated_input, d.BufferAOTInput):
                raise UnsupportedError(
                    f"the model changes {desc.mutated_input.expr()} in place: only buffers may change"
                )
            assert name is not None
            writes.append((name, primals[desc.mutated_input]))
        elif isinstance(desc, d.PlainAOTOutput):
            constant = constants[desc.idx]
            tensor = Output(name, tangents.get(desc.idx), detached=desc.idx in detached)
            outputs.append(tensor if constant is None else Output(None, None, constant))
        elif isinstance(desc, d.GradAOTOutput):
            if name is not None:
                gradients.append((primals[desc.grad_of], name))
        else:
            raise UnsupportedError(f"the model returns something that cannot be planned ({desc.expr()})")
    ops = rewrite(tuple(reading.ops), reading.values, tuple(writes))
    ops = _spare_returned(ops, reading.values, outputs)
    ops = reserve_for_loss(ops, reading.values)
    ops, parts = split_gradients(ops, reading.values, tuple(gradients), {o.value for o in outputs})
    return Graph(tuple(reading.values.values()), ops, tuple(outputs), parts, device)


def _spare_returned(ops: tuple[Op, ...], values: dict[str, Value], outputs: list[Output]) -> tuple[Op, ...]:
    """What the model returns is the caller's, who may look at it at any time: nothing is written over it."""
    returned = {values[o.value].root for o in outputs if o.value is not None}
    return tuple(replace(op, inplace=tuple(n for n in op.inplace if values[n].root not in returned)) for op in ops)


def _is_tangent(node: fx.Node) -> bool:
    return isinstance(node.meta.get("desc"), d.TangentAOTInput)
