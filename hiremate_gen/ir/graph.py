"""The joint forward/backward graph of one training step, free of torch.

A `Value` is a tensor; several values may share one storage, and the one that owns it is their *root*.
Memory is counted by root.  An `Op` that only makes views (`Op.view`) costs nothing and is repeated wherever its
result is needed, so planning sees only the other ops, and sees them read and write roots.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

# Kinds of values: these exist before the step and after it; the others are tangent, activation, gradient and rng.
STATIC_KINDS = ("parameter", "buffer", "input", "constant")
RNG_STATE = "rng_state"  # target of the op that takes the state of the random generator


@dataclass(frozen=True, slots=True)
class Ref:
    """An argument that is a value of the graph."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """An argument written as it stands, as Python source (`0.1`, `torch.float32`, `float("inf")`)."""

    text: str


@dataclass(frozen=True, slots=True)
class Device:
    """The device of the step: emitted as the device of an input, never as a literal."""


Arg = Ref | Literal | Device | tuple["Arg", ...]


def refs(arg: Arg) -> Iterator[str]:
    """Names of the values inside an argument, left to right."""
    if isinstance(arg, Ref):
        yield arg.name
    elif isinstance(arg, tuple):
        for item in arg:
            yield from refs(item)


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor: `shape` and `stride` in elements, `bytes` of the storage it owns (0 when it is a view)."""

    name: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str  # as torch spells it, without "torch.": "float32"
    kind: str
    root: str  # the value that owns the storage; its own name when it is the owner
    bytes: int
    path: str = ""  # parameters, buffers, constants: attribute path on the model; inputs: argument name

    @property
    def static(self) -> bool:
        return self.kind in STATIC_KINDS


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an op comes from: module path and class on the model, and the user's own statement."""

    module: str = ""  # "transformer.h.0.attn"
    module_class: str = ""  # "CausalSelfAttention"
    file: str = ""  # as given on the command line, relative
    line: int = 0
    text: str = ""  # the statement's first line, stripped
    targets: tuple[str, ...] = ()  # names that the statement assigns, when this op makes what they are given
    owner: str = ""  # path of the module whose forward holds the statement: "transformer.h.0"


@dataclass(frozen=True, slots=True)
class Op:
    """One call.  `target` is the ATen overload ("aten.addmm.default"), or `RNG_STATE`, which takes the state of the
    random generator so that the next op can be run again and draw the same numbers.

    `outputs` has one name for each result, `None` for a result that nothing reads.  `inplace` lists root inputs that
    the first output may overwrite when nothing reads them later.  `writes_buffer` pairs an output with the buffer
    that takes its value after the op has run; such a write happens once, in forward.  `time_s` is the
    cost of one run; `workspace_bytes` the largest sum of bytes that are live inside the call beyond inputs and outputs.
    """

    name: str
    target: str
    args: tuple[Arg, ...]
    kwargs: tuple[tuple[str, Arg], ...]
    outputs: tuple[str | None, ...]
    tupled: bool  # the call returns a tuple, even when it has one item
    backward: bool
    view: bool = False
    random: bool = False
    recomputable: bool = True
    replays: str | None = (
        None  # the "rng" root with the generator's state from before a random op, for running it again
    )
    again_args: tuple[Arg, ...] | None = None  # arguments when it runs again, where they differ
    derives: str | None = None  # a backward op: the forward op that it differentiates
    inplace: tuple[str, ...] = ()
    writes_buffer: tuple[tuple[str, str], ...] = ()
    time_s: float = 0.0
    workspace_bytes: int = 0
    origin: Origin = Origin()

    @property
    def inputs(self) -> tuple[str, ...]:
        """Every value read, in order of arguments, repeats kept."""
        return (*refs(self.args), *(n for _, a in self.kwargs for n in refs(a)))


@dataclass(frozen=True, slots=True)
class Output:
    """One leaf of what the model returns.

    `grad` is the tangent that arrives for it, if the plan expects one; `detached` says that it is a floating-point
    tensor that takes none.
    """

    value: str | None  # None: the leaf is not a tensor, `constant` holds its source text
    grad: str | None = None
    constant: str = ""
    detached: bool = False


@dataclass(frozen=True)
class Graph:
    """`ops` in program order, all forward ones first; backward in the order autograd ran them."""

    values: tuple[Value, ...]
    ops: tuple[Op, ...]
    outputs: tuple[Output, ...]
    # (parameter or input, a part of its gradient).  A parameter that is used several times has a part for each use, in
    # the order in which autograd adds them up; one without a gradient is absent.
    gradients: tuple[tuple[str, str], ...]
    device: str = "cpu"
    index: dict[str, Value] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {v.name: v for v in self.values})

    @cached_property
    def op(self) -> dict[str, Op]:
        """Ops by name."""
        return {o.name: o for o in self.ops}

    @cached_property
    def computes(self) -> tuple[Op, ...]:
        """The ops that planning sees: all but views."""
        return tuple(o for o in self.ops if not o.view)

    @cached_property
    def reads(self) -> dict[str, tuple[str, ...]]:
        """Op -> the non-static roots that it reads, each once, in order of arguments.

        What the model returns without a gradient is with the step until the last forward op has run, so that op counts
        as a reader of it: from then on it is the caller's to drop.
        """
        reads = {o.name: self._roots((*o.inputs, *filter(None, (o.replays,)))) for o in self.ops}
        last = next((o for o in reversed(self.computes) if not o.backward), None)
        if last is not None:
            own = self.writes[last.name]
            returned = [r for r in self.returned if r not in own]
            reads[last.name] = tuple(dict.fromkeys((*reads[last.name], *returned)))
        return reads

    @cached_property
    def readers(self) -> dict[str, frozenset[str]]:
        """Root -> the ops that read it; absent where none does."""
        found: dict[str, set[str]] = {}
        for op in self.computes:
            for root in self.reads[op.name]:
                found.setdefault(root, set()).add(op.name)
        return {root: frozenset(ops) for root, ops in found.items()}

    @cached_property
    def returned(self) -> tuple[str, ...]:
        """Roots of the outputs that no gradient is planned for, less those that are returned a second time for one."""
        roots = self._roots(o.value for o in self.outputs if o.value is not None and o.grad is None)
        return tuple(r for r in roots if r not in self.held)

    @cached_property
    def writes(self) -> dict[str, tuple[str, ...]]:
        """Op -> the roots that it makes, in order of outputs (none for a view)."""
        return {o.name: () if o.view else self._roots(n for n in o.outputs if n is not None) for o in self.ops}

    @cached_property
    def maker(self) -> dict[str, Op]:
        """Value -> the op that makes it, views included."""
        return {name: op for op in self.ops for name in op.outputs if name is not None}

    @cached_property
    def producer(self) -> dict[str, str]:
        """Root -> the op that makes it; static roots and tangents are absent."""
        return {root: name for name, roots in self.writes.items() for root in roots}

    @cached_property
    def held(self) -> frozenset[str]:
        """Roots that stay live to the end of the step: outputs that a gradient comes for, and gradients."""
        first = dict(reversed(self.gradients))
        outputs = [o.value for o in self.outputs if o.value is not None and o.grad is not None]
        return frozenset(self._roots([*outputs, *first.values()]))

    @cached_property
    def handed(self) -> frozenset[str]:
        """Further parts of gradients: autograd adds each to the first as soon as it gets it, at a segment's end."""
        return frozenset(self._roots(g for _, g in self.gradients)) - self.held

    @cached_property
    def static_bytes(self) -> int:
        """Parameters, buffers, inputs and constants."""
        return sum(v.bytes for v in self.values if v.static and v.root == v.name)

    def bytes(self, root: str) -> int:
        return self.index[root].bytes

    def _roots(self, names: Iterable[str]) -> tuple[str, ...]:
        seen: dict[str, None] = {}
        for name in names:
            root = self.index[self.index[name].root]
            if not root.static:
                seen[root.name] = None
        return tuple(seen)
