"""Names of values inside the functions of one block: the user's own wherever there are any."""

from __future__ import annotations

from collections.abc import Iterable

from hiremate_gen.emit.faces import Seen, faces
from hiremate_gen.emit.identifiers import RESERVED, Taken, identifier, short
from hiremate_gen.emit.origins import (
    assigned,
    counts_batches,
    passed_through,
    shortened,
    single_op_modules,
    static_values,
)
from hiremate_gen.emit.products import RESHAPES, reads
from hiremate_gen.emit.sources import Sources
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


class Names:
    """Value -> identifier for everything that the functions of one block touch.

    The block's input is `x` and its output `out`, so that blocks which do the same work read the same.  Names depend
    on the block alone, not on the plan: whatever its functions keep or make again has one name in all of them.
    """

    def __init__(self, graph: Graph, block: Block, prefix: str, seen: Seen) -> None:
        self._graph, self._block, self._prefix = graph, block, prefix
        # Names of the user's module may be hidden inside a generated function: it does not use them.
        self._taken = Taken(RESERVED)
        self._names: dict[str, str] = {}
        self._alone = single_op_modules(graph, block)
        self._assigned = assigned(graph, block)
        self._passed_through = passed_through(graph)
        self.sums: dict[str, str] = {}  # op that adds gradients up -> what they are gradients of
        self.faces = faces(graph, block, seen)
        self._face = {root: value for value, root in reversed(self.faces.items())}
        self._ends()
        self._statics()
        ops = self._program()
        self._forward([op for op in ops if not op.backward])
        self._backward([op for op in ops if op.backward])

    def __getitem__(self, value: str) -> str:
        value = self.faces.get(value, value)
        if value not in self._names:  # a root of another block that crosses without a gradient
            self._names[value] = self._taken.one(self._foreign(value))
        return self._names[value]

    def face(self, root: str) -> str:
        """The value whose shape the name of `root` stands for."""
        return self._face.get(root, root)

    def path(self, static: str) -> str:
        """A parameter or buffer by its name on the block's module, or after a slash by that on the model; constants,
        which have no name, by number."""
        path = self._graph.index[static].path
        if self._graph.index[static].kind == "constant":
            constants = [v.name for v in self._graph.values if v.kind == "constant"]
            return f"constant {constants.index(static) + 1}"
        if not self._prefix:
            return path
        inside = path.startswith(self._prefix + ".")
        return path.removeprefix(self._prefix + ".") if inside else f"/{path}"

    @property
    def forward(self) -> tuple[str, ...]:
        """The block's forward ops."""
        return self._block.forward

    def _foreign(self, value: str) -> str:
        if self._graph.index[value].kind == "tangent":
            output = next(o.value for o in self._graph.outputs if o.grad == value)
            return f"grad_{self._names.get(output or '', 'output')}"
        maker = self._graph.maker.get(value)
        return value if maker is None else self._wishes(maker)[0]

    def _ends(self) -> None:
        block = self._block
        for root, name in (
            (block.input, "x"),
            (block.output, "out"),
            (block.grad_output, "grad_out"),
            (block.grad_input, "grad_x"),
        ):
            if root is not None and root not in self._names:
                self._names[root] = self._taken.one(name)

    def _program(self) -> list[Op]:
        mine = {*self._block.forward, *self._block.backward}
        return [op for op in self._graph.computes if op.name in mine]

    def _statics(self) -> None:
        """Inputs go by their own name; parameters and buffers need none but for their gradients."""
        touched = static_values(self._graph, (*self._block.forward, *self._block.backward))
        for value in touched:
            if self._graph.index[value].kind == "input":
                self._names[value] = self._taken.one(self._graph.index[value].path)
        mine = set(self._block.backward)
        for parameter, gradient in self._graph.gradients:
            maker = self._graph.producer.get(self._graph.index[gradient].root)
            root = self.faces.get(gradient, gradient)
            if root not in self._names and (maker in mine or (maker is None and parameter in touched)):
                self._names[root] = self._taken.one(f"grad_{self._path(parameter)}")

    def _path(self, static: str) -> str:
        module, dot, leaf = self.path(static).strip("/").rpartition(".")
        own = self._graph.index[static].path.startswith(f"{self._prefix}.")
        return identifier(shortened(module, self._prefix if own else "", self._passed_through) + dot + leaf)

    # ---- forward -----------------------------------------------------------------------------------------------

    def _forward(self, ops: list[Op]) -> None:
        wishes: dict[str, list[str]] = {}
        for op in (o for o in ops if o.target != RNG_STATE and not counts_batches(o)):
            key = op.name.removesuffix("_mask") if op.target == "aten.native_dropout.default" else op.name
            if self._graph.op.get(key, op).outputs[0] not in self._names:
                wishes.setdefault(key, self._wishes(op))
        views = self._eligible(ops)
        likely = [v for v in views if self._graph.maker[v].tupled or self._uses(ops, v) > 1]
        wishes |= {value: self._view_wishes(value) for value in likely}
        named = self._taken.all(wishes)
        named |= self._taken.all({v: self._view_wishes(v) for v in views if v not in named})
        for op in ops:
            base = named.get(op.name) or named.get(op.name.removesuffix("_mask")) or self._wishes(op)[-1]
            applied = self._graph.op.get(op.name.removesuffix("_mask"), op)
            if applied.outputs[0] in self._names:  # it has a name that says where it goes, not what it is
                base = next((w for w in self._wishes(op)[len(op.origin.targets) :]), base)
            suffixes = _RESULTS.get(op.target.split(".")[1], ()) if "." in op.target else ()
            for index, value in enumerate(op.outputs):
                if value is None or value in self._names:
                    continue
                if op.target == RNG_STATE:
                    self._names[value] = self._taken.one(f"{self._wishes(op)[0]}_rng")
                    continue
                suffix = suffixes[index] if index < len(suffixes) else str(index) if index else ""
                whole = op.name in named and not suffix
                self._names[value] = base if whole else self._taken.one(f"{base}_{suffix}" if suffix else base)
        self._names |= {value: named[value] for value in views}

    def _wishes(self, op: Op) -> list[str]:
        """What the first result of a forward op may be called, best first."""
        origin, kind = op.origin, short(op.target)
        if op.target == "aten.native_dropout_backward.default":
            kind = "dropout"
        views = [t for v in op.outputs if v is not None for t in self._face_targets(v)]
        targets = origin.targets if len(origin.targets) == 1 else tuple(views)
        found = list(targets[:1])
        module = self._shortened(origin.module)
        if origin.module in self._alone:
            found.append(module or origin.module.rpartition(".")[2])
        copied = self._shown_name(op.inputs[0]) if op.target == "aten.clone.default" and op.inputs else ""
        if copied:
            found.append(f"{copied}_copy")
        statement = self._assigned.get((origin.owner, origin.line), ())
        if len(statement) == 1:
            found.append(f"{statement[0]}_{kind}")
        if module:
            found.append(f"{module}_{kind}")
        return [*found, kind]

    def _face_targets(self, root: str) -> list[str]:
        views = [v for v, r in self.faces.items() if r == root]
        found = [self._graph.maker[v].origin.targets for v in views]
        return [t[0] for t in found if len(t) == 1]

    def relative(self, module: str) -> str:
        if not self._prefix:
            return module
        return "" if module == self._prefix else module.removeprefix(self._prefix + ".")

    def _shortened(self, module: str) -> str:
        inside = module.startswith(f"{self._prefix}.")
        return shortened(self.relative(module), self._prefix if inside else "", self._passed_through)

    def _shown_name(self, value: str) -> str:
        """What the user calls a value that is a view or what it is a view of; nothing where that has no name."""
        op = self._graph.maker.get(value)
        root = self.faces.get(value, value)
        if root in self._names or op is None:
            return self._names.get(root, "")
        if len(op.origin.targets) == 1:
            return op.origin.targets[0]
        if op.view and op.tupled and len(op.origin.targets) == len(op.outputs):
            return op.origin.targets[op.outputs.index(value)]
        return self._shown_name(op.inputs[0]) if op.view else ""

    def _uses(self, ops: list[Op], view: str) -> int:
        return sum(view in reads(self._graph, op) for op in ops)

    # ---- views -------------------------------------------------------------------------------------------------

    def _eligible(self, ops: Iterable[Op]) -> list[str]:
        """Views that may get a line of their own, in order of first use."""
        found: dict[str, None] = {}

        def visit(value: str) -> None:
            op = self._graph.maker.get(value)
            if op is None or not op.view or value in self._names or value in self.faces or value in found:
                return
            visit(op.inputs[0])
            found.update(dict.fromkeys(o for o in op.outputs if o is not None and o not in self._names))

        for op in ops:
            for value in reads(self._graph, op):
                if not self._graph.index[self._graph.index[value].root].static:
                    visit(value)
        return list(found)

    def _view_wishes(self, value: str) -> list[str]:
        op = self._graph.maker[value]
        targets, index = op.origin.targets, op.outputs.index(value)
        found = [targets[index]] if len(targets) == len(op.outputs) and (op.tupled or len(targets) == 1) else []
        base = self._shown_name(op.inputs[0]) or self._base(op.inputs[0])
        if op.target in RESHAPES:
            return [*found, f"{base}_{len(self._graph.index[value].shape)}d"]
        return [*found, f"{base}_{short(op.target)}" + (f"_{index}" if op.tupled else "")]

    def _base(self, value: str) -> str:
        value = self.faces.get(value, value)
        op = self._graph.maker.get(value)
        if value in self._names or op is None:
            return self._names.get(value, value)
        return self._base(op.inputs[0]) if op.view else self._wishes(op)[0]

    # ---- backward ----------------------------------------------------------------------------------------------

    def _backward(self, ops: list[Op]) -> None:
        sources = Sources(self._graph, self._block, self.faces)
        wishes: dict[str, list[str]] = {}
        for op in ops:
            for index, value in enumerate(op.outputs):
                source = sources.learn(op, index, value) if value is not None else None
                if source is not None and op.derives is None and op.target == "aten.add.Tensor":
                    self.sums[op.name] = self._source_name(source)
                if value is not None and value not in self._names:
                    wishes[value] = self._gradient_wishes(op, source)
        final = [v for v in wishes if self._graph.maker[v].derives is None and len(wishes[v]) > 1]
        wanted = {wishes[v][0]: v for v in final}  # a sum of gradients comes before what it is the sum of
        wishes = {v: ws if wanted.get(ws[0], v) == v else ws[1:] or ws for v, ws in wishes.items()}
        self._names |= self._taken.all(wishes)
        self._names |= self._taken.all({v: self._gradient_view(v) for v in self._eligible(ops)})

    def _gradient_wishes(self, op: Op, source: str | None) -> list[str]:
        derived = self._graph.op.get(op.derives or "")
        via = self._shortened(derived.origin.module) if derived is not None else ""
        if derived is not None and derived.origin.module not in self._alone:
            via = short(derived.target)
        name = f"grad_{self._source_name(source)}" if source is not None else ""
        if name:
            return [name, f"{name}_{via}"] if via else [name]
        return [f"grad_{via}" if via else f"grad_{short(op.target)}", f"grad_{short(op.target)}"]

    def _source_name(self, source: str) -> str:
        while (op := self._graph.maker.get(source)) is not None and op.target in RESHAPES and not op.origin.targets:
            source = op.inputs[0]
        if self._graph.index[source].static and self._graph.index[source].kind != "input":
            return self._path(source)
        return self._names.get(source) or self._shown_name(source) or self._base(source)

    def _gradient_view(self, value: str) -> list[str]:
        op = self._graph.maker[value]
        base = self._base(op.inputs[0])
        if op.target in RESHAPES:
            return [f"{base}_{len(self._graph.index[value].shape)}d"]
        return [f"{base}_{short(op.target)}" + (f"_{op.outputs.index(value)}" if op.tupled else "")]
