"""The pieces of the emitted file, as the templates take them: strings and tuples of strings."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FunctionPart:
    """A function of one block: `def name(parameters) -> annotation: body; return returns`."""

    name: str
    doc: str
    parameters: tuple[str, ...]
    annotation: str
    body: tuple[str, ...]
    returns: tuple[str, ...]
    phase: str


@dataclass(frozen=True, slots=True)
class StepPart:
    """One call inside a `Function`: `targets = function(arguments)`, and the lines before and after it.

    `role` is the same for what does the same part of the work in other classes.
    """

    before: tuple[str, ...]
    targets: tuple[str, ...]
    role: str
    function: str
    arguments: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        call = f"{self.function}({', '.join(self.arguments)})"
        return (*self.before, f"{', '.join(self.targets)} = {call}" if self.targets else call, *self.after)


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """Calls of a backward that stand in one method, and the dictionaries of gradients that they hand back."""

    steps: tuple[StepPart, ...]
    gradients: tuple[str, ...]

    @property
    def merged(self) -> str:
        """All of its gradients."""
        if len(self.gradients) == 1:
            return self.gradients[0]
        return "{" + ", ".join(f"**{name}" for name in self.gradients) + "}"


@dataclass(frozen=True, slots=True)
class ClassPart:
    """An autograd Function for the instances of one kind of block that share a plan."""

    name: str
    doc: str
    weights: tuple[str, ...]  # names on the block's module, after a slash on the model; "*" for all its parameters
    buffers: tuple[str, ...]
    inputs: tuple[tuple[str, str], ...]  # (key, slot) for each part of an input's gradient
    repeats: tuple[tuple[str, str], ...]  # (key, weight): passed once more for each further part of its gradient
    last: bool
    shared: bool  # another block's backward runs this one again
    forward: tuple[StepPart, ...]
    outputs: tuple[str, ...]  # what the model returns (the last block)
    grad_outputs: tuple[str, ...]  # what arrives for each output
    unplanned: tuple[tuple[str, str], ...]  # (argument, output) that no gradient is planned for
    expected: tuple[tuple[str, str], ...]  # (argument, output) that a gradient is planned for
    stores: tuple[tuple[str, str], ...]  # (slot, expression) set before backward's calls
    backward: tuple[ChunkPart, ...]
    token: str
    base: str = "RematStep"
    functions: tuple[tuple[str, str], ...] = ()  # (role, function): what methods call by the role, on the class
    methods: tuple[str, ...] = ("forward", "backward")  # the others are those of its base

    @property
    def steps(self) -> tuple[StepPart, ...]:
        """All calls in the methods that the class has itself."""
        backward = tuple(step for chunk in self.backward for step in chunk.steps)
        return self.forward * ("forward" in self.methods) + backward * ("backward" in self.methods)

    @property
    def begun(self) -> str:
        """What forward takes of `begin`: that which a line reads by its name."""
        lines = [line for step in self.forward for line in step.lines]
        return _read(("w", "buffers"), [*lines, "w"] if self.shared else lines)

    @property
    def resumed(self) -> str:
        """The same for backward and `resume`."""
        lines = ["w live i"] if len(self.backward) > 1 else [n for c in self.backward for s in c.steps for n in s.lines]
        return _read(("w", "live", "i"), [*lines, *(f"live[{slot}]" for slot, _ in self.stores)])


def _read(names: tuple[str, ...], lines: list[str]) -> str:
    code = re.sub(r'"[^"]*"', '""', "\n".join(lines))
    return ", ".join(name if re.search(rf"\b{name}\b", code) else "_" for name in names)


@dataclass(frozen=True, slots=True)
class InputPart:
    """What an input of the model must be: `name` is its source text on the parameters of forward."""

    name: str
    shape: str
    dtype: str
    requires_grad: bool
    slot: str
    used: bool


@dataclass(frozen=True, slots=True)
class ModelPart:
    """Everything for the templates."""

    source_name: str
    device_type: str
    uses_rng: bool
    helpers: frozenset[str]  # those that are called
    inputs: tuple[InputPart, ...]
    constants: tuple[tuple[str, str], ...]  # inputs that are no tensors: source text, and what they must equal
    arguments: tuple[str, ...]  # source text of the inputs
    made: tuple[tuple[str, str], ...]  # tensors that forward makes from Python values: key, expression
    parameters: int
    settings: tuple[str, ...]  # names after each other, in lines
    digest: str
    functions: tuple[tuple[str, tuple[FunctionPart, ...]], ...]  # grouped under a heading
    classes: tuple[ClassPart, ...]
    runs_again: bool  # something is recomputed
    updates: bool  # forward writes buffers
    any_inputs: bool
    any_repeats: bool
    rows: tuple[str, ...]  # of the table of blocks, all but the last
    repeated: bool  # some of them stand for several blocks
    last: str  # class of the last block
    last_path: str
    outputs: tuple[str, ...]  # names of the tensors that the model returns
    called: dict[str, str]  # these names -> in words for their user
    result: str  # source text of what the model returns
    direct: bool  # which is the outputs as they are
    signature: str  # what stands in the parentheses of forward
    returns: str  # its annotation, with the arrow
    passed: str  # its parameters as arguments of a call
    receiver: str  # its first parameter: "self"
    eager: str  # the name that model.py's own forward goes by
