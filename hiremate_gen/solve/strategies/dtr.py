"""Eviction by a greedy policy: M. Kirisame, S. Lyubomirsky, A. Haan, J. Brennan, M. He, J. Roesch, T. Chen, Z. Tatlock,
"Dynamic Tensor Rematerialization", ICLR 2021, run at planning time.

Ops run in order; when one does not fit, the live value with the least h_DTR is evicted:

    h_DTR(r) = (seconds of r's op and of its evicted neighbourhood) / (bytes of r * seconds since it was last used)

where the neighbourhood are the ops to run before r could be made again, and those evicted ones that need r.  An op
whose inputs are evicted makes them again, recursively; what has no reader left is given back at once (eager eviction).

What comes out is the set of ops that ran again, at which backward op: a schedule like any other, with its exact replay.
The policy runs for LIMITS limits of memory, and the fastest schedule that fits the budget is taken, so a limit that was
exceeded because the replay's order differs costs nothing.  Not implemented: evicting gradients, and, as the forward
runs once here, values that forward still reads; the approximation of neighbourhoods by union-find, which is for speed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from hiremate_gen.solve.bound import gradients
from hiremate_gen.solve.net import Codes, Net, profile
from hiremate_gen.solve.strategies.problem import Found, Problem, fastest

LIMITS = 48
MISSES = 3  # limits in a row that the policy cannot hold, after which lower ones are not tried
THRASH = 20  # reruns for each op of the step, from which the policy is going in circles


class _OutOfMemory(Exception):
    """Nothing is left to evict, or the policy goes in circles."""


def dtr(given: Problem, budget: int) -> Found:
    """The fastest of the schedules that the policy makes for a ladder of limits."""
    return fastest(given.net, _schedules(given), budget)


@lru_cache(maxsize=2)
def _schedules(given: Problem) -> tuple[Codes, ...]:
    return ((), *ladder(given.net))


def ladder(net: Net) -> Iterator[Codes]:
    """What the policy makes of ever smaller limits, until it cannot hold them."""
    top, facts, missed = profile(net, ()).peak, _facts(net), 0
    for k in range(1, LIMITS):
        codes = evict(facts, top - (top - net.base) * k // LIMITS)
        missed = missed + 1 if codes is None else 0
        if codes is not None:
            yield codes
        if missed == MISSES:
            return


@dataclass(frozen=True, slots=True)
class _Facts:
    """What does not depend on the limit."""

    net: Net
    during: list[int]  # bytes of all but forward roots while each op runs, and after it
    after: list[int]
    mine: frozenset[int]  # forward roots
    last: list[int]  # root -> the last op that reads it; its own when none does
    last_forward: list[int]
    readers: list[list[int]]  # root -> forward ops


def _facts(net: Net) -> _Facts:
    mine = frozenset(r for r, p in enumerate(net.producer) if 0 <= p < net.n_forward and r not in net.held)
    last, readers = list(net.producer), [list[int]() for _ in net.size]
    last_forward = list(net.producer)
    for o in range(net.n_ops):
        for r in net.reads[o]:
            last[r] = o
            if o < net.n_forward:
                last_forward[r] = o
                readers[r].append(o)
    return _Facts(net, *gradients(net), mine, last, last_forward, readers)


def evict(facts: _Facts, limit: int) -> Codes | None:
    """The schedule of the policy within `limit` bytes; None when it runs out of memory."""
    run = _Run(facts, limit)
    try:
        for op in range(facts.net.n_ops):
            run.step(op)
    except _OutOfMemory:
        return None
    return facts.net.prune(run.codes)


@dataclass(slots=True)
class _Run:
    facts: _Facts
    limit: int
    live: dict[int, float] = field(default_factory=dict)  # root -> when it was last used
    bytes: int = 0  # of what is live
    clock_s: float = 0.0
    now: int = 0  # the op of the program that is being run
    codes: set[int] = field(default_factory=set)
    reruns: int = 0

    def step(self, op: int) -> None:
        """Run the next op of the program."""
        facts, net = self.facts, self.facts.net
        self.now = op
        reads = [r for r in net.reads[op] if r in facts.mine]
        locked = set(reads)
        for r in reads:
            self._make(r, locked)
        taken = next((net.size[r] for r in net.inplace[op] if r in facts.mine and facts.last[r] == op), 0)
        self._run(op, facts.during[op] - taken, locked)
        for r in [*reads, *(r for r in net.writes[op] if r in facts.mine)]:
            if facts.last[r] <= op:
                self._drop(r)

    def _make(self, root: int, locked: set[int]) -> None:
        """Have `root` live: run its op again, after those that make its inputs."""
        net = self.facts.net
        path = [root]
        while path:
            if path[-1] in self.live:
                locked.add(path.pop()) if len(path) > 1 else path.pop()
                continue
            op = net.producer[path[-1]]
            missing = [r for r in net.reads[op] if r in self.facts.mine and r not in self.live]
            if missing:
                path += missing[:1]
                continue
            self.reruns += 1
            if self.reruns > THRASH * net.n_ops:
                raise _OutOfMemory
            inputs = {r for r in net.reads[op] if r in self.facts.mine}
            self._run(op, self.facts.after[self.now - 1] + net.work[op], locked | inputs)
            self.codes.add(net.code(net.stage_for(self.now, op), op))
            locked -= inputs - set(net.reads[self.now])

    def _run(self, op: int, others: int, locked: set[int]) -> None:
        """Run an op beside `others` bytes that cannot be evicted, making room first."""
        net, mine = self.facts.net, self.facts.mine
        made = [r for r in net.writes[op] if r in mine and r not in self.live]
        more = sum(net.size[r] for r in made)
        while others + self.bytes + more > self.limit:
            self._drop(self._victim(locked))
        self.bytes += more
        self.clock_s += net.time_s[op]
        for r in (*made, *(r for r in net.reads[op] if r in mine)):
            self.live[r] = self.clock_s

    def _drop(self, root: int) -> None:
        if self.live.pop(root, None) is not None:
            self.bytes -= self.facts.net.size[root]

    def _victim(self, locked: set[int]) -> int:
        """The live root with the least h_DTR.  Raises _OutOfMemory when there is none to evict."""
        facts, net = self.facts, self.facts.net
        free = [
            r
            for r in self.live
            if r not in locked
            and net.size[r]
            and net.recomputable[net.producer[r]]
            and (self.now >= net.n_forward or facts.last_forward[r] < self.now)
        ]
        if not free:
            raise _OutOfMemory
        tiny = 1e-9 * max(sum(net.time_s), 1e-30)
        stale = {r: self.clock_s - self.live[r] + tiny for r in free}
        return min(free, key=lambda r: ((self._neighbourhood_s(r) + tiny) / (net.size[r] * stale[r]), r))

    def _neighbourhood_s(self, root: int) -> float:
        """Seconds of the op of `root`, of its evicted ancestors, and of evicted descendants that are still needed."""
        facts, net = self.facts, self.facts.net
        up, down = {net.producer[root]}, set[int]()
        todo = [net.producer[root]]
        while todo:
            for r in net.reads[todo.pop()]:
                op = net.producer[r]
                if r in facts.mine and r not in self.live and op not in up and net.recomputable[op]:
                    up.add(op)
                    todo.append(op)
        below = [root]
        while below:
            for op in facts.readers[below.pop()]:
                gone = [r for r in net.writes[op] if r in facts.mine and r not in self.live]
                if op < self.now and op not in down and any(facts.last[r] >= self.now for r in gone):
                    down.add(op)
                    below += gone
        return sum(net.time_s[op] for op in sorted(up | down))
