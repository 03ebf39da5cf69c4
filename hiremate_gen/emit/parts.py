"""The pieces of the emitted file, as the templates take them: strings and tuples of strings."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FunctionPart:
    """A function of one block: `def name(parameters): body; return results`."""

    name: str
    doc: str
    parameters: tuple[str, ...]
    body: tuple[str, ...]
    results: tuple[str, ...]
    phase: str


@dataclass(frozen=True, slots=True)
class WeightsPart:
    """A named tuple of the tensors of one kind of block: `fields` pairs names with expressions on `module`, which is
    the block's, or on `model`."""

    name: str
    doc: str
    fields: tuple[tuple[str, str], ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        """What `of` needs."""
        found = {re.split(r"[.\[]", text.removeprefix("getattr("))[0] for _, text in self.fields}
        return tuple(name for name in ("module", "model") if name in found)


@dataclass(frozen=True, slots=True)
class StepPart:
    """One call inside a `Function`: `targets = function(arguments)`; `weights` is the line before it, if any."""

    weights: str
    targets: tuple[str, ...]
    function: str
    arguments: tuple[str, ...]
    after: tuple[str, ...]  # lines after it

    @property
    def reads_weights(self) -> bool:
        return "weights" in self.arguments

    @property
    def line(self) -> str:
        call = f"{self.function}({', '.join(self.arguments)})"
        return f"{', '.join(self.targets)} = {call}" if self.targets else call


@dataclass(frozen=True, slots=True)
class ClassPart:
    """An autograd Function for the instances of one kind of block that share a plan."""

    name: str
    doc: str
    weights: str
    buffers: str  # name of the named tuple of buffers that forward writes; empty when there is none
    repeats: tuple[str, ...]  # weights passed once more for each further part of their gradient
    inputs: tuple[str, ...]  # inputs of the model that need gradients here
    last: bool
    shares_weights: bool  # another block's backward runs this one again
    forward: tuple[StepPart, ...]
    outputs: tuple[str, ...]  # what the model returns (the last block)
    grad_outputs: tuple[str, ...]  # what arrives for each output
    unplanned: tuple[tuple[str, str], ...]  # (argument, output) that no gradient is planned for
    expected: tuple[tuple[str, str], ...]  # (argument, output) that a gradient is planned for
    stores: tuple[tuple[str, str], ...]  # (slot, expression) set before backward's calls
    backward: tuple[StepPart, ...]
    gradients: tuple[str, ...]

    @property
    def backward_reads_weights(self) -> bool:
        return any(step.reads_weights for step in self.backward)


@dataclass(frozen=True, slots=True)
class ApplyPart:
    """One line of the planned forward: `targets = cls.apply(token, live, index, arguments)`."""

    targets: str
    cls: str
    index: int
    arguments: tuple[str, ...]


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
    inputs: tuple[InputPart, ...]
    constants: tuple[tuple[str, str], ...]  # inputs that are no tensors: source text, and what they must equal
    parameters: int
    digest: str
    functions: tuple[tuple[str, tuple[FunctionPart, ...]], ...]  # grouped under a heading
    weights: tuple[WeightsPart, ...]
    classes: tuple[ClassPart, ...]
    applies: tuple[ApplyPart, ...]
    result: str  # source text of what the model returns
    called: dict[str, str]  # its tensors by name -> in words for their user
    signature: str  # what stands in the parentheses of forward
    passed: str  # its parameters as arguments of a call
    receiver: str  # its first parameter: "self"
    eager: str  # the name that model.py's own forward goes by
