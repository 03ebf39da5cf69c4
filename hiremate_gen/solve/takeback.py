"""Taking recomputation back where the budget allows it, judged on a timeline before the exact replay is asked."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from hiremate_gen.solve.net import Codes, Net, Profile, profile


@dataclass(frozen=True, slots=True)
class Timeline:
    """A profile with, for each root, the steps that make or read it."""

    net: Net
    steps: list[int]
    peaks: npt.NDArray[np.int64]
    touches: list[list[int]]
    makes: list[list[int]]
    at: dict[int, int]  # code -> step

    def without(self, code: int) -> int:
        """The peak, in bytes, when `code` and what only it needs do not run; storage taken over is not seen anew."""
        start = self.at[code]
        gone = self._cascade(start)
        delta = np.zeros(len(self.steps), dtype=np.int64)
        net = self.net
        for r in net.writes[self.steps[start]]:
            if r not in net.held and self._copy(r, start)[-1] > start:
                before = self.touches[r][bisect_left(self.touches[r], start) - 1]
                delta[before + 1 : start] += net.size[r]
        shrunk: set[tuple[int, int]] = set()
        for s in gone:
            if s != start:
                for r in net.writes[self.steps[s]]:
                    if r not in net.held:
                        delta[s : self._copy(r, s)[-1] + 1] -= net.size[r]
            for r in net.reads[self.steps[s]]:
                self._shorten(r, s, gone, shrunk, delta)
        delta[list(gone)] = -(1 << 60)
        return int((self.peaks + delta).max())

    def _shorten(
        self, r: int, s: int, gone: set[int], shrunk: set[tuple[int, int]], delta: npt.NDArray[np.int64]
    ) -> None:
        if r in self.net.held:
            return
        copy = self._copy(r, s)
        if copy[0] in gone or (r, copy[0]) in shrunk or copy[-1] not in gone:
            return
        shrunk.add((r, copy[0]))
        stays = next(x for x in reversed(copy) if x not in gone)
        delta[stays + 1 : copy[-1] + 1] -= self.net.size[r]

    def _copy(self, r: int, step: int) -> list[int]:
        """The steps of the copy of `r` that is there at `step`: made, then read."""
        makes = self.makes[r]
        k = bisect_left(makes, step + 1) - 1
        first = makes[k]
        touches = self.touches[r]
        low = bisect_left(touches, first)
        high = bisect_left(touches, makes[k + 1]) if k + 1 < len(makes) else len(touches)
        return touches[low:high]

    def _cascade(self, start: int) -> set[int]:
        """Steps that nothing needs once `start` is gone."""
        net, gone = self.net, {start}
        heap: list[int] = []
        self._ask(start, heap)
        while heap:
            s = -heappop(heap)
            if s in gone:
                continue
            if all(r not in net.held and gone.issuperset(self._copy(r, s)[1:]) for r in net.writes[self.steps[s]]):
                gone.add(s)
                self._ask(s, heap)
        return gone

    def _ask(self, step: int, heap: list[int]) -> None:
        """Put the recomputes that made the inputs of `step` on the heap."""
        for r in self.net.reads[self.steps[step]]:
            made = self._copy(r, step)[0]
            if made >= self.net.n_forward and self.steps[made] < self.net.n_forward:
                heappush(heap, -made)


def timeline(net: Net, codes: Codes, run: Profile) -> Timeline:
    """Index a profile for questions about it."""
    touches: list[list[int]] = [[] for _ in net.size]
    makes: list[list[int]] = [[] for _ in net.size]
    for s, op in enumerate(run.steps):
        for r in net.reads[op]:
            touches[r].append(s)
        for r in net.writes[op]:
            touches[r].append(s)
            makes[r].append(s)
    again = [s for s in range(net.n_forward, len(run.steps)) if run.steps[s] < net.n_forward]
    return Timeline(net, run.steps, np.array(run.peaks), touches, makes, dict(zip(codes, again, strict=True)))


def reduce(net: Net, codes: Codes, budget: int) -> Codes:
    """Take back recomputation that `budget` bytes do not need, dearest first, until nothing more can go."""
    changed = True
    while changed and codes:
        changed = False
        line = timeline(net, codes, profile(net, codes))
        for code in sorted(codes, key=lambda c: (-net.time_s[c % net.n_forward], c)):
            if code not in line.at or line.without(code) > budget:
                continue
            fewer = net.prune(c for c in codes if c != code)
            run = profile(net, fewer)
            if run.peak <= budget:
                codes, changed, line = fewer, True, timeline(net, fewer, run)
    return codes
