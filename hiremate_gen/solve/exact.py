"""MILPs over a ladder of budgets, several at a time; what they find depends on node limits only, not on the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hiremate_gen.solve.hush import hush
from hiremate_gen.solve.model import Model

if TYPE_CHECKING:
    from hiremate_gen.solve.milp import Answer

WALL = 10  # HiGHS stops by the wall clock, which a busy machine makes run ahead of the processor's
GAP = 0.002  # of the recomputation
# Binaries up to which so many budgets are solved, with so many nodes each; and so many levels of the ladder.
TIERS = ((60, 24, 400, 8), (200, 4, 40, 4), (800, 4, 30, 0))


@dataclass(slots=True)
class Effort:
    """How many threads, and after how many processor seconds to stop: a last resort that ordinary runs never reach."""

    jobs: int
    limit_s: float
    started_s: float = field(default_factory=lambda: time.process_time())
    cut: bool = False  # the limit was reached and something was left out

    def start(self) -> None:
        """Count from now."""
        self.started_s = time.process_time()

    @property
    def left_s(self) -> float:
        return self.limit_s - (time.process_time() - self.started_s)

    @property
    def over(self) -> bool:
        """Whether the time is over; asked before something that would be left out then."""
        self.cut = self.cut or self.left_s <= 0
        return self.cut

    def bounded(self, solve: Callable[[float], Answer]) -> Answer | None:
        """Run a solver that takes a limit in seconds of the wall clock; None when the time is over, before or after."""
        if self.over:
            return None
        limit_s, began_s = WALL * max(self.left_s, 1.0), time.monotonic()
        answer = solve(limit_s)
        self.cut = self.cut or time.monotonic() - began_s >= limit_s
        return None if self.over else answer

    @property
    def remark(self) -> str:
        """For the status of a plan."""
        return f"; cut short by the time limit of {self.limit_s:g} s" if self.cut else ""


@dataclass(frozen=True, slots=True)
class Task:
    """A budget in bytes, the seconds of recomputation of the best schedule known, and those that any has at least."""

    budget: int
    known_s: float
    least_s: float


@dataclass(frozen=True, slots=True)
class Tier:
    """How many budgets of a model are worth a MILP, the nodes for each, and at how many halvings of the ladder."""

    budgets: int
    nodes: int
    levels: int


def tier(model: Model) -> Tier:
    """By the number of binaries."""
    return next((Tier(*rest) for most, *rest in TIERS if len(model.runs) <= most), Tier(0, 0, 0))


def choose(tasks: Sequence[Task], limit: Tier, room_s: float) -> list[Task]:
    """The tasks where most can be won, if that is more than `room_s` seconds."""
    open_tasks = [t for t in tasks if t.known_s - t.least_s > room_s]
    ordered = sorted(range(len(open_tasks)), key=lambda k: (open_tasks[k].least_s - open_tasks[k].known_s, k))
    return [open_tasks[k] for k in sorted(ordered[: limit.budgets])]


def optimise_all(tasks: Sequence[tuple[Model, Task]], effort: Effort) -> list[Answer]:
    """Answers in the order of the tasks; HiGHS runs outside the interpreter's lock, so threads are enough."""

    if not tasks:
        return []
    from hiremate_gen.solve.milp import Answer, optimise

    def run(item: tuple[Model, Task]) -> Answer:
        model, task = item
        nodes, most_s = tier(model).nodes, task.known_s
        answer = effort.bounded(
            lambda limit_s: optimise(model, task.budget, most_s, gap=GAP, nodes=nodes, limit_s=limit_s)
        )
        return answer or Answer(None, 0.0, "no time left")

    hush()
    with ThreadPoolExecutor(max(min(effort.jobs, len(tasks)), 1)) as pool:
        return list(pool.map(run, tasks))
