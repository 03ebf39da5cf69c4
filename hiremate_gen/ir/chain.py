"""The graph cut into a chain of blocks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of the forward program and the backward ops that belong to it, by op name (views left out).

    `input` is the root that needs a gradient and comes from the block before (None for the first block), `output`
    the one handed on (None for the last).  `grad_output` and `grad_input` are the roots of their gradients, None
    where there is none.  Whatever else crosses a cut needs no gradient and stays live from its producer to its
    last reader.

    Blocks with equal `twin` do the same work: op k of one corresponds to op k of the other, and so do the roots that
    these ops read and write, position by position.
    """

    name: str  # module path: "transformer.h.0"
    kind: str  # class name of the module: "Block"
    forward: tuple[str, ...]
    backward: tuple[str, ...]
    input: str | None
    output: str | None
    grad_output: str | None
    grad_input: str | None
    twin: int  # index in the chain of the first block with the same work


@dataclass(frozen=True, slots=True)
class Chain:
    """Blocks in forward order.  Backward runs them from last to first."""

    blocks: tuple[Block, ...]
