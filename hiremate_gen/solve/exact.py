"""MILPs over a ladder of budgets, several at a time; what they find depends on node limits only, not on the clock."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from hiremate_gen.solve.milp import Answer, Model, optimise

T = TypeVar("T")
GAP = 0.002  # of the recomputation
# Binaries up to which so many budgets are solved, with so many nodes each.
TIERS = ((60, 48, 2000), (200, 16, 400), (800, 4, 100))


@dataclass(frozen=True, slots=True)
class Effort:
    """How many processors, and until when (`time.monotonic`) a new MILP may start."""

    jobs: int
    deadline: float

    @property
    def left_s(self) -> float:
        return self.deadline - time.monotonic()


@dataclass(frozen=True, slots=True)
class Task:
    """One budget of one model, with the seconds of recomputation of the best schedule known for it."""

    model: Model
    budget: int
    known_s: float


def tier(model: Model) -> tuple[int, int]:
    """How many budgets of this model are worth a MILP, and the nodes for each."""
    return next(((budgets, nodes) for most, budgets, nodes in TIERS if len(model.runs) <= most), (0, 0))


def optimise_all(tasks: Sequence[Task], effort: Effort) -> list[Answer]:
    """Answers in the order of the tasks; HiGHS runs outside the interpreter's lock, so threads are enough."""

    def run(task: Task) -> Answer:
        if effort.left_s <= 0:
            return Answer(None, 0.0, "no time left")
        _, nodes = tier(task.model)
        return optimise(task.model, task.budget, task.known_s, gap=GAP, nodes=nodes, limit_s=max(effort.left_s, 1.0))

    with ThreadPoolExecutor(max(effort.jobs, 1)) as pool:
        return list(pool.map(run, tasks))


def spread(values: Sequence[T], count: int) -> list[T]:
    """At most `count` of the values, evenly chosen, ends included."""
    if len(values) <= count:
        return list(values)
    if count <= 1:
        return list(values[:count])
    return [values[k * (len(values) - 1) // (count - 1)] for k in range(count)]
