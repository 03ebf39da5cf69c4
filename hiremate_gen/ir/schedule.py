"""A plan in the form that emission writes down: calls of functions, and what each takes, frees and hands on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One op of a call: `frees` are the roots that die with it, `overwrites` the one whose storage it takes over."""

    op: str
    again: bool
    frees: tuple[str, ...]
    overwrites: str | None


@dataclass(frozen=True, slots=True)
class Call:
    """A segment of the plan as a function call (see `plan.Segment` for `phase` and `block`).

    `takes` are roots from before that die inside, `borrows` roots from before that live on, `results` roots made
    inside that live on; each in order of first use.  `drops` are results and borrowed roots that whoever
    calls lets go of right after.
    """

    phase: str
    block: int
    steps: tuple[Step, ...]
    takes: tuple[str, ...]
    borrows: tuple[str, ...]
    results: tuple[str, ...]
    peak_bytes: int
    drops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Schedule:
    """A whole training step.  `peak_call` indexes the call that reaches `peak_bytes` first, in its op `peak_op`."""

    calls: tuple[Call, ...]
    peak_bytes: int
    peak_call: int
    peak_op: str
    time_s: float
