"""What a solver decides: which ops run when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Segment:
    """Ops (by name, views left out) that run one after another on behalf of one block; each becomes a function.

    `phase` is
      "forward"    every forward op of `block`, once, in program order;
      "recompute"  forward ops of `block` again, run during backward on behalf of the backward segment that follows;
      "backward"   every backward op of `block` once, mixed with forward ops of `block` that are run again.
    """

    phase: str
    block: int
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole step: forward segments of blocks 0..n-1, then for each block n-1..0 any number of recompute segments
    followed by its backward segment.

    Frees are not part of a plan: a value lives from the op that makes it to its last reader before it is made again.
    """

    segments: tuple[Segment, ...]
    strategy: str = "none"
    status: str = ""  # how the solver ended, for people: "optimal", "time limit, gap 2.1 %"
    lower_bound_s: float | None = None  # no schedule within the budget takes less time than this

    def ops(self) -> Iterator[str]:
        for segment in self.segments:
            yield from segment.ops
