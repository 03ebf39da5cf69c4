"""What a report is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from hiremate_gen.ir import Chain, Graph, Op, Plan, Replay, Schedule, replay


@dataclass(frozen=True)
class Subject:
    """A plan beside that of a step that keeps everything.

    `reserve_bytes` is what the self-check found missing in the estimates: it counts at every moment.  `name` gives the
    name of a value in the generated functions of a block, by its number.
    """

    source_name: str
    command: str
    graph: Graph
    chain: Chain
    plan: Plan
    schedule: Schedule
    eager: Plan
    budget_bytes: int
    reserve_bytes: int
    name: Callable[[int, str], str]
    device: str  # in words: "cpu, torch 2.13, costs roofline"

    @cached_property
    def run(self) -> Replay:
        """The plan as it runs."""
        return replay(self.graph, self.plan)

    @cached_property
    def before(self) -> Replay:
        """The step that keeps everything, as it runs."""
        return replay(self.graph, self.eager)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """For the head of the page."""
        inputs = [v for v in self.graph.values if v.kind == "input" and v.path]
        shown = ", ".join(f"{v.path}: {v.dtype}{list(v.shape)}" for v in inputs)
        ops = len(self.graph.computes)
        again = sum(m.again for m in self.run.moments)
        counts = f"{len(self.chain.blocks)} blocks, {ops} ops, {again} run again in backward"
        return ("inputs", shown), ("device", self.device), ("size", counts)

    @cached_property
    def homes(self) -> dict[str, int]:
        """Op -> number of its block."""
        return {op: n for n, b in enumerate(self.chain.blocks) for op in (*b.forward, *b.backward)}

    def home(self, root: str) -> int:
        """The block whose op makes a root; the last one for gradients that arrive from outside."""
        return self.homes.get(self.graph.producer.get(root, ""), len(self.chain.blocks) - 1)

    def block(self, number: int) -> str:
        """Its name, for people."""
        return self.chain.blocks[number].name or "the model"

    def short(self, op: Op) -> str:
        """`gelu`, or for a backward op the forward op that it belongs to: `grad of gelu`."""
        if op.backward and op.derives is not None:
            return f"grad of {self.short(self.graph.op[op.derives])}"
        name = op.target.split(".")[1] if "." in op.target else op.target
        # A dropout's value is made from its mask by the op that torch calls the backward of dropout.
        return name.strip("_").removeprefix("native_").removesuffix("" if op.backward else "_backward")

    def line(self, op: Op) -> str:
        """Where the forward op of an op stands in the user's file: `model.py:16`, or what it is called."""
        origin = self.origin_op(op).origin
        return f"{origin.file}:{origin.line}" if origin.line else op.target

    def place(self, op: Op) -> str:
        """`gelu at model.py:16: h = F.gelu(self.fc(h))`."""
        text = self.origin_op(op).origin.text
        text = text if len(text) <= 60 else f"{text[:59]}…"
        return f"{self.short(op)} at {self.line(op)}{f': {text}' if text else ''}"

    def origin_op(self, op: Op) -> Op:
        """The forward op that stands in the user's file."""
        return self.graph.op[op.derives] if op.derives is not None else op


@dataclass(frozen=True, slots=True)
class Budget:
    """One row of a sweep: bytes, and seconds beyond those of a step that keeps everything as a fraction of it."""

    budget_bytes: int
    peak_bytes: int
    overhead: float
    least_overhead: float | None
