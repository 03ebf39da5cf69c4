"""What each block of the chain reads and updates of the model, and which gradients it hands to autograd."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hiremate_gen.emit.faces import Seen
from hiremate_gen.emit.identifiers import identifier, snake
from hiremate_gen.emit.names import Names
from hiremate_gen.emit.origins import static_values
from hiremate_gen.ir import Block, Chain, Graph


@dataclass(frozen=True, slots=True)
class Gradient:
    """A gradient of a parameter or input that a block makes: `key` is what its functions and autograd know it by."""

    of: str
    value: str
    key: str
    repeated: bool  # a further part of a gradient whose first part the block makes, too


@dataclass
class Blocks:
    """By number of block."""

    graph: Graph
    chain: Chain
    prefixes: tuple[str, ...] = field(init=False)  # path of the module that holds its parameters, or ""
    names: tuple[Names, ...] = field(init=False)
    weights: tuple[tuple[str, ...], ...] = field(init=False)  # parameters, buffers and constants that it reads
    buffers: tuple[tuple[str, ...], ...] = field(init=False)  # what its forward writes
    gradients: tuple[tuple[Gradient, ...], ...] = field(init=False)
    kinds: tuple[str, ...] = field(init=False)  # class of its module: "Block"
    labels: tuple[str, ...] = field(init=False)  # the same, told apart where blocks of one class do different work

    def __post_init__(self) -> None:
        numbers = range(len(self.chain.blocks))
        owned = self._owned_gradients()
        written = {b for op in self.graph.ops for _, b in op.writes_buffer} | self._batch_norm_buffers()
        statics = [self._static_roots(n, owned[n]) for n in numbers]
        self.weights = tuple(tuple(v for v in vs if v not in written) for vs in statics)
        self.buffers = tuple(tuple(v for v in vs if v in written) for vs in statics)
        self.prefixes = tuple(self._prefix(b, vs) for b, vs in zip(self.chain.blocks, statics, strict=True))
        seen = Seen(self.graph)
        self.names = tuple(Names(self.graph, b, p, seen) for b, p in zip(self.chain.blocks, self.prefixes, strict=True))
        self.gradients = tuple(self._keyed(n, owned[n]) for n in numbers)
        self.labels = self._labels()

    def tuples(self, number: int) -> dict[str, str]:
        """Static value -> the dictionary in which the functions of a block get it."""
        return dict.fromkeys(self.weights[number], "w") | dict.fromkeys(self.buffers[number], "buffers")

    def weight_names(self, number: int) -> tuple[str, ...]:
        """What a block's functions get, by name; a star for the parameters of its module where all are among it."""
        prefix, mine = self.prefixes[number], self.weights[number]
        inside = f"{prefix}." if prefix else ""
        own = [v.name for v in self.graph.values if v.kind == "parameter" and v.path.startswith(inside)]
        whole = bool(own) and set(own) <= set(mine)
        rest = [self.names[number].path(v) for v in mine if not (whole and v in own)]
        return ("*", *rest) if whole else tuple(rest)

    def is_input(self, value: str) -> bool:
        return self.graph.index[value].kind == "input"

    def _batch_norm_buffers(self) -> set[str]:
        """Batch norm writes its running statistics without being asked."""
        again = [op for op in self.graph.ops if op.again_args is not None]
        return {name for op in again for name in op.inputs if self.graph.index[name].kind == "buffer"}

    def _owned_gradients(self) -> list[list[tuple[str, str]]]:
        """Block -> the gradients that its Function hands to autograd: those that its backward makes."""
        maker = {op: n for n, block in enumerate(self.chain.blocks) for op in block.backward}
        readers: dict[str, int] = {}
        for number, block in enumerate(self.chain.blocks):
            for value in static_values(self.graph, block.forward):
                readers.setdefault(value, number)
        owned: list[list[tuple[str, str]]] = [[] for _ in self.chain.blocks]
        for of, value in self.graph.gradients:
            made = self.graph.producer.get(self.graph.index[value].root)
            owned[maker.get(made or "", readers.get(of, 0))].append((of, value))
        return owned

    def _static_roots(self, number: int, owned: list[tuple[str, str]]) -> tuple[str, ...]:
        """Parameters and buffers of a block: what its ops read, and whose gradients they make."""
        block = self.chain.blocks[number]
        found = dict.fromkeys(static_values(self.graph, (*block.forward, *block.backward)))
        found |= dict.fromkeys(of for of, _ in owned)
        order = {v.name: k for k, v in enumerate(self.graph.values)}
        return tuple(sorted((v for v in found if not self.is_input(v)), key=order.__getitem__))

    def _prefix(self, block: Block, statics: tuple[str, ...]) -> str:
        paths = [self.graph.index[v].path for v in statics if self.graph.index[v].kind != "constant"]
        return block.name if any(p.startswith(block.name + ".") for p in paths) else ""

    def _keyed(self, number: int, owned: list[tuple[str, str]]) -> tuple[Gradient, ...]:
        """In the order of `weights`; further parts of a gradient, which autograd adds up, come last."""
        counts: dict[str, int] = {}
        found = []
        for of, value in owned:
            counts[of] = counts.get(of, 0) + 1
            name = f"input {self.graph.index[of].path}" if self.is_input(of) else self.names[number].path(of)
            found.append(Gradient(of, value, name if counts[of] == 1 else f"{name} #{counts[of]}", counts[of] > 1))
        place = {v: k for k, v in enumerate(self.weights[number])}
        return tuple(sorted(found, key=lambda g: (g.repeated, place.get(g.of, -1))))

    def _labels(self) -> tuple[str, ...]:
        """What functions and classes of a block are named after: its class, with where it stands if others share it."""
        self.kinds = tuple(_label(self.chain.blocks[b.twin]) for b in self.chain.blocks)
        plain = [_label(b) for b in self.chain.blocks]
        kinds: dict[str, set[int]] = {}
        for label, block in zip(plain, self.chain.blocks, strict=True):
            kinds.setdefault(label, set()).add(block.twin)
        labels = []
        for block in self.chain.blocks:
            label = plain[block.twin]
            where = self._where(block.twin, kinds[label])
            told = where if snake(label) in where.lower() else f"{label}_{where}"
            labels.append(label if len(kinds[label]) == 1 else identifier(told))
        return tuple(labels)

    def _where(self, twin: int, others: set[int]) -> str:
        """The last module in a block's path, or all of it where that does not tell it from `others`."""
        name = self.chain.blocks[twin].name
        shared = _last(name) in [_last(self.chain.blocks[t].name) for t in others - {twin}]
        return re.sub(r"\W", "_", name.split("..")[0]) if shared else _last(name)


def _label(block: Block) -> str:
    if block.kind and block.kind not in ("Sequential", "ModuleList"):
        return block.kind
    ends = [part.rsplit(".", 1)[-1] for part in block.name.split("..")]
    return identifier("_".join(dict.fromkeys(ends)))


def _last(path: str) -> str:
    """`h_0` of `transformer.h.0`: numbers alone say little."""
    parts = path.split("..")[0].split(".")
    last = max((n for n, part in enumerate(parts) if not part.isdigit()), default=0)
    return re.sub(r"\W", "_", "_".join(parts[last:]))  # blocks of one module are told apart by `@2`
