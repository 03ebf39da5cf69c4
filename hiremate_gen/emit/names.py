"""Names of values inside the functions of one block: the user's own wherever there are any."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

from hiremate_gen.ir import Block, Graph, Op
from hiremate_gen.ir.graph import RNG_STATE

_RESULTS = {
    "native_layer_norm": ("", "mean", "rstd"),
    "native_group_norm": ("", "mean", "rstd"),
    "native_batch_norm": ("", "mean", "rstd"),
    "native_dropout": ("", "mask"),
    "max_pool2d_with_indices": ("", "indices"),
    "nll_loss_forward": ("", "weight"),
    "nll_loss2d_forward": ("", "weight"),
    "_scaled_dot_product_flash_attention_for_cpu": ("", "logsumexp"),
    "_fused_rms_norm": ("", "rstd"),
    "topk": ("", "indices"),
    "sort": ("", "indices"),
    "max": ("", "indices"),
    "min": ("", "indices"),
}
# What generated functions use by a global name, and their own parameters.
_GLOBALS = ("torch", "F", "aten", "rng_state", "replaying", "taken", "weights", "buffers")
RESERVED = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *_GLOBALS})
_LONGEST = 40


def identifier(text: str) -> str:
    """`text` as a Python identifier: dots become underscores, a leading digit gets one before it."""
    name = re.sub(r"\W", "_", text).strip("_") or "value"
    return (f"layer_{name}" if name[0].isdigit() else name)[:_LONGEST]


def short(target: str) -> str:
    """`aten._softmax.default` -> `softmax`."""
    return identifier(target.split(".")[1].strip("_")) if "." in target else target


class Names:
    """Value -> identifier for everything that the functions of one block touch.

    The block's input is `x` and its output `out`, so that blocks which do the same work read the same.
    """

    def __init__(self, graph: Graph, block: Block, prefix: str) -> None:
        self._graph, self._block, self._prefix = graph, block, prefix
        # Names of the user's module may be hidden inside a generated function: it does not use them.
        self._taken = set(RESERVED)
        self._names: dict[str, str] = {}
        self._of: dict[str, str] = {}  # gradient -> the forward value that it is the gradient of
        self._alone = _single_op_modules(graph, block)
        self._ends()
        self._statics()
        for op in self._program():
            self._outputs(op)

    def __getitem__(self, value: str) -> str:
        if value not in self._names:  # a root of another block that crosses without a gradient
            self._set(value, self._foreign(value))
        return self._names[value]

    def _foreign(self, value: str) -> str:
        if self._graph.index[value].kind == "tangent":
            output = next(o.value for o in self._graph.outputs if o.grad == value)
            return f"grad_{self._names.get(output or '', 'output')}"
        maker = self._graph.maker.get(value)
        return value if maker is None else self._base(maker)

    def _set(self, value: str, base: str) -> None:
        base = identifier(base)
        name, n = base, 2
        while name in self._taken:
            name, n = f"{base}_{n}", n + 1
        self._taken.add(name)
        self._names[value] = name

    def _ends(self) -> None:
        block = self._block
        for root, name in (
            (block.input, "x"),
            (block.output, "out"),
            (block.grad_output, "grad_out"),
            (block.grad_input, "grad_x"),
        ):
            if root is not None and root not in self._names:
                self._set(root, name)
        if block.input is not None:
            self._of[block.grad_input or ""] = block.input

    def _program(self) -> list[Op]:
        mine = {*self._block.forward, *self._block.backward}
        return [op for op in self._graph.computes if op.name in mine]

    def _statics(self) -> None:
        """Parameters first, so that their names never depend on activations."""
        for value in static_values(self._graph, (*self._block.forward, *self._block.backward)):
            path, kind = self._graph.index[value].path, self._graph.index[value].kind
            name = path.removeprefix(self._prefix + ".") if self._prefix else path
            self._set(value, "constant" if kind == "constant" else name)
        for parameter, gradient in self._graph.gradients:
            if parameter in self._names and gradient not in self._names:
                self._of[gradient] = parameter
                self._set(gradient, f"grad_{self._names[parameter]}")

    def _outputs(self, op: Op) -> None:
        for name in op.inputs:
            self._views(name)
        base = self._gradient_base(op) if op.backward else self._base(op)
        suffixes = _RESULTS.get(op.target.split(".")[1], ()) if "." in op.target else ()
        for index, value in enumerate(op.outputs):
            if value is None or value in self._names:
                continue
            if op.target == RNG_STATE:
                self._set(value, f"{base}_rng")
            elif op.backward:
                self._set(value, self._gradient(op, index, value))
            else:
                suffix = suffixes[index] if index < len(suffixes) else str(index) if index else ""
                self._set(value, f"{base}_{suffix}" if suffix else base)

    def _views(self, value: str) -> None:
        """Views carry the name that the user gave them, else that of what they show."""
        if value in self._names or value not in self._graph.maker:
            return
        op = self._graph.maker[value]
        if not op.view:
            return
        for name in op.inputs:
            self._views(name)
        targets = op.origin.targets
        for index, output in enumerate(op.outputs):
            if output is None or output in self._names:
                continue
            if targets and len(targets) == len(op.outputs):
                self._set(output, targets[index])
            else:
                self._set(output, f"{self[op.inputs[0]]}_{short(op.target)}")

    def _base(self, op: Op) -> str:
        origin = op.origin
        if len(origin.targets) == 1:
            return origin.targets[0]
        if origin.module in self._alone:
            return origin.module.removeprefix(self._prefix + ".") if self._prefix else origin.module
        return short(op.target)

    def _gradient_base(self, op: Op) -> str:
        return f"grad_{short(op.target)}"

    def _gradient(self, op: Op, index: int, value: str) -> str:
        """`grad_<name>` of the forward value that has this gradient: by the graph, else by shape."""
        source = self._of.get(value)
        if source is None and op.derives is not None:
            shape = self._graph.index[value].shape
            inputs = [
                n for n in self._graph.op[op.derives].inputs if self._graph.index[n].dtype.startswith(("f", "b", "c"))
            ]
            source = next((n for n in inputs[index:] + inputs[:index] if self._graph.index[n].shape == shape), None)
        elif source is None:
            source = next((self._of[n] for n in op.inputs if n in self._of), None)
        if source is None:
            return self._gradient_base(op)
        self._of[value] = source
        self._views(source)
        return f"grad_{self[source]}"


def static_values(graph: Graph, ops: Iterable[str]) -> tuple[str, ...]:
    """Parameters, buffers, inputs and constants that `ops` read, directly or through views, in order of first use."""
    found: dict[str, None] = {}
    for name in ops:
        op = graph.op[name]
        for value in (*op.inputs, *(buffer for _, buffer in op.writes_buffer)):
            root = graph.index[value].root
            if graph.index[root].static:
                found[root] = None
    return tuple(found)


def _single_op_modules(graph: Graph, block: Block) -> frozenset[str]:
    """Modules with one op in the block: their name says what the op is."""
    counts: dict[str, int] = {}
    for name in block.forward:
        op = graph.op[name]
        if not op.random and op.target != RNG_STATE:
            counts[op.origin.module] = counts.get(op.origin.module, 0) + 1
    return frozenset(m for m, n in counts.items() if n == 1 and m and m != block.name)
