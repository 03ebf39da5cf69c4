"""MILPs over a ladder of budgets, several at a time; what they find depends on node limits only, not on the clock."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from hiremate_gen.solve.hush import hush
from hiremate_gen.solve.milp import Answer, optimise
from hiremate_gen.solve.model import Model

GAP = 0.002  # of the recomputation
# Binaries up to which so many budgets are solved, with so many nodes each.
TIERS = ((60, 24, 400), (200, 6, 100), (800, 4, 30))


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
    """A budget in bytes, the seconds of recomputation of the best schedule known, and those that any has at least."""

    budget: int
    known_s: float
    least_s: float


@dataclass(frozen=True, slots=True)
class Tier:
    """How many budgets of a model are worth a MILP, and the nodes for each."""

    budgets: int
    nodes: int


def tier(model: Model) -> Tier:
    """By the number of binaries."""
    return next((Tier(budgets, nodes) for most, budgets, nodes in TIERS if len(model.runs) <= most), Tier(0, 0))


def choose(tasks: Sequence[Task], limit: Tier, room_s: float) -> list[Task]:
    """The tasks where most can be won, if that is more than `room_s` seconds."""
    open_tasks = [t for t in tasks if t.known_s - t.least_s > room_s]
    ordered = sorted(range(len(open_tasks)), key=lambda k: (open_tasks[k].least_s - open_tasks[k].known_s, k))
    return [open_tasks[k] for k in sorted(ordered[: limit.budgets])]


def optimise_all(tasks: Sequence[tuple[Model, Task]], effort: Effort) -> list[Answer]:
    """Answers in the order of the tasks; HiGHS runs outside the interpreter's lock, so threads are enough."""

    def run(item: tuple[Model, Task]) -> Answer:
        model, task = item
        left_s = effort.left_s
        if left_s <= 0:
            return Answer(None, 0.0, "no time left")
        nodes = tier(model).nodes
        return optimise(model, task.budget, task.known_s, gap=GAP, nodes=nodes, limit_s=max(left_s, 1.0))

    hush()
    with ThreadPoolExecutor(max(effort.jobs, 1)) as pool:
        return list(pool.map(run, tasks))
