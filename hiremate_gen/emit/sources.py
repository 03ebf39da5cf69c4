"""Which forward value each value of backward is the gradient of: by autograd's own order, by what is read, by shape."""

from __future__ import annotations

from hiremate_gen.ir import Block, Graph, Op

# Gradients of products: that of one operand reads the other.
_COPIES = ("aten.clone.default", "aten._to_copy.default")
_PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "mul", "div", "matmul")


class Sources:
    """Learns op by op, in the order of backward."""

    def __init__(self, graph: Graph, block: Block, faces: dict[str, str]) -> None:
        self._graph = graph
        self._order = {root: k for k, op in enumerate(graph.ops) for root in graph.writes[op.name]}
        self._of: dict[str, str] = {g: p for p, g in reversed(graph.gradients)}
        self._of |= {o.grad: o.value for o in graph.outputs if o.grad is not None and o.value is not None}
        for gradient, root in ((block.grad_output, block.output), (block.grad_input, block.input)):
            if gradient is not None and root is not None:
                self._of[gradient] = root
        self._roots = {faces.get(g, g): s for g, s in self._of.items()}

    def learn(self, op: Op, index: int, value: str) -> str | None:
        """The forward value that `value`, result `index` of `op`, is the gradient of; None where that is not clear."""
        found = self._of.get(value) or self._roots.get(value)
        if found is None and op.derives is not None:
            found = self._derived(op, index, value)
        if found is None:
            found = self._passed_on(op, value)
        if found is not None:
            self._of[value] = found
        return found

    def source(self, value: str) -> str | None:
        """The same for a value that may be a view of a gradient."""
        while value not in self._of:
            op = self._graph.maker.get(value)
            if op is None or not op.view:
                return None
            value = op.inputs[0]
        return self._of[value]

    def _derived(self, op: Op, index: int, value: str) -> str | None:
        forward = self._graph.op[op.derives or ""]
        floats = [n for n in forward.inputs if self._graph.index[n].dtype.startswith(("f", "b", "c"))]
        rotated = floats[index:] + floats[:index]
        read = {self._graph.index[n].root for n in op.inputs}
        free = [n for n in rotated if self._graph.index[n].root not in read]
        product = forward.target.split(".")[1] in _PRODUCTS and not op.tupled
        for names in (free, rotated) if product else (rotated,):
            for alike in (self._shape, self._size):
                match = next((n for n in names if alike(n) == alike(value)), None)
                if match is not None:
                    return match
        return None

    def _passed_on(self, op: Op, value: str) -> str | None:
        """A sum, a copy or a gathering of gradients: what they are gradients of, or what that shows a part of.

        Where gradients of several values are added up, all but one have come further: the sum is that of the value
        that was made first.
        """
        sources = [s for s in map(self.source, op.inputs) if s is not None]
        for alike in (self._shape, self._size):
            found = [s for source in sources for s in self._shown(source) if alike(s) == alike(value)]
            nearest = [
                next(s for s in self._shown(source) if s in found)
                for source in sources
                if {*self._shown(source)} & {*found}
            ]
            if nearest:
                return min(nearest, key=self._made)
        return None

    def _shown(self, source: str) -> list[str]:
        """A value, what it is a view or a copy of, what that is a view or a copy of, and so on."""
        found = [source]
        while (maker := self._graph.maker.get(found[-1])) is not None and (maker.view or maker.target in _COPIES):
            found.append(maker.inputs[0])
        return found

    def _made(self, value: str) -> int:
        return self._order.get(self._graph.index[value].root, -1)

    def _shape(self, value: str) -> object:
        return self._graph.index[value].shape

    def _size(self, value: str) -> object:
        size = 1
        for n in self._graph.index[value].shape:
            size *= n
        return size
