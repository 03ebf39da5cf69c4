"""A schedule that can be changed: memory at every step is kept up to date while codes come and go.

Every step has a *key* that does not move when others come: with m = n_forward + 1, forward op v has the key v, forward
op v before backward op p the key `p * m + v`, and p itself `p * m + n_forward`.  A copy of a root is the stretch of
keys from the step that makes it to its last reader before it is made again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hiremate_gen.solve.net import Codes, Net, profile

Keys = list[int]
NEVER = 1 << 60  # a key after all others
_RECENT = 16  # schedules that are remembered: searches come back to the same ones


@dataclass(slots=True)
class Timeline:
    """A schedule as it runs.  The lists of `touches` and `makes` are never changed in place: a changed root gets new
    ones, so copies share the rest and identity tells whether a root is as it was."""

    net: Net
    codes: set[int]
    keys: Keys
    peaks: npt.NDArray[np.int64]  # bytes while each step runs
    touches: list[Keys]  # root -> the steps that make or read it; empty for held roots, which stay once they are made
    makes: list[Keys]
    first: npt.NDArray[np.int64]  # root -> the key that makes its first copy, NEVER for held roots
    last: npt.NDArray[np.int64]  # root -> the last key of its first copy
    taken: dict[int, int]  # key -> bytes of the storage that the step takes over
    several: dict[int, None]  # roots with more than one copy

    def copy(self) -> Timeline:
        """One that can be changed without changing this one."""
        return Timeline(
            self.net, self.codes.copy(), self.keys.copy(), self.peaks.copy(), self.touches.copy(), self.makes.copy(),
            self.first, self.last.copy(), self.taken.copy(), self.several.copy(),
        )  # fmt: skip

    @property
    def peak(self) -> int:
        return int(self.peaks.max()) if len(self.peaks) else self.net.base

    def key(self, code: int) -> int:
        """The key of a step that runs again."""
        stage, op = divmod(code, self.net.n_forward)
        return stage * (self.net.n_forward + 1) + op

    def op(self, key: int) -> int:
        stage, op = divmod(key, self.net.n_forward + 1)
        return stage if op == self.net.n_forward else op

    def code(self, key: int) -> int:
        """The code of the step at `key`, -1 when it does not run again."""
        stage, op = divmod(key, self.net.n_forward + 1)
        return -1 if op == self.net.n_forward or not stage else stage * self.net.n_forward + op

    def done(self) -> Codes:
        return tuple(sorted(self.codes))

    def span(self, root: int, key: int) -> tuple[int, int]:
        """First and last key of the latest copy made before `key` or by it; (NEVER, -1) when there is none."""
        makes = self.makes[root]
        k = bisect_left(makes, key + 1) - 1
        if k < 0:
            return NEVER, -1
        touches = self.touches[root]
        end = bisect_left(touches, makes[k + 1]) if k + 1 < len(makes) else len(touches)
        return makes[k], touches[end - 1]

    def insert(self, code: int) -> None:
        """Run an op again; nothing happens when it does already."""
        if code in self.codes:
            return
        net, size, key = self.net, self.net.size, self.key(code)
        op, at = code % net.n_forward, bisect_left(self.keys, key)
        after = self.op(self.keys[at])
        across = int(self.peaks[at]) - net.work[after] + self.taken.get(self.keys[at], 0) - net.out[after]
        self.codes.add(code)
        self.keys.insert(at, key)
        self.peaks = np.concatenate((self.peaks[:at], (across + net.work[op],), self.peaks[at:]))
        for r in net.writes[op]:
            if r in net.held:
                self.peaks[at] += size[r]
                continue
            before, follows = self._touch(r, key, made=True)
            if follows:
                self.peaks[self._at(before) + 1 : at] -= size[r]
                self._take_over(before)
            else:
                self.peaks[at] += size[r]
        for r in net.reads[op]:
            if r not in net.held:
                before, follows = self._touch(r, key, made=False)
                if not follows:
                    self.peaks[self._at(before) + 1 : at + 1] += size[r]
                    self._take_over(before)
        self._take_over(key)

    def remove(self, code: int) -> None:
        """Undo `insert`."""
        net, size, key = self.net, self.net.size, self.key(code)
        op, at = code % net.n_forward, bisect_left(self.keys, key)
        for r in net.writes[op]:
            if r not in net.held:
                before, follows = self._forget(r, key, made=True)
                if follows:
                    self.peaks[self._at(before) + 1 : at] += size[r]
                    self._take_over(before)
        for r in net.reads[op]:
            if r not in net.held:
                before, follows = self._forget(r, key, made=False)
                if not follows:
                    self.peaks[self._at(before) + 1 : at] -= size[r]
                    self._take_over(before)
        self.taken.pop(key, None)
        self.codes.discard(code)
        del self.keys[at]
        self.peaks = np.concatenate((self.peaks[:at], self.peaks[at + 1 :]))

    def add(self, codes: Iterable[int]) -> None:
        """Insert codes, and take out what nothing reads from then on."""
        new = [c for c in codes if c not in self.codes]
        for code in new:
            self.insert(code)
        suspects = set(new)
        for code in new:
            key = self.key(code)
            for r in self.net.writes[code % self.net.n_forward]:
                if r not in self.net.held:
                    suspects.add(self.code(self.span(r, key - 1)[0]))
        suspects.discard(-1)
        for code in sorted(suspects, reverse=True):
            if code in self.codes and self.unread(code):
                self.take_out(code)

    def take_out(self, code: int) -> list[int]:
        """Remove a code and what only it needs; those removed, in order."""
        gone: list[int] = []
        todo = [code]
        while todo:
            one = todo.pop()
            if one not in self.codes or (gone and not self.unread(one)):
                continue
            key = self.key(one)
            makers = {
                self.code(self.span(r, key)[0]) for r in self.net.reads[one % self.net.n_forward] if self.makes[r]
            }
            self.remove(one)
            gone.append(one)
            makers.discard(-1)
            todo += sorted(makers)
        return gone

    def unread(self, code: int) -> bool:
        """Whether nothing reads what a step that runs again makes."""
        key = self.key(code)
        return all(
            r in self.net.held or self.span(r, key)[1] == key for r in self.net.writes[code % self.net.n_forward]
        )

    def _at(self, key: int) -> int:
        return bisect_left(self.keys, key)

    def _touch(self, root: int, key: int, made: bool) -> tuple[int, bool]:
        """Note a step; the touch before it, and whether the copy that was there is read after it."""
        touches, makes = self.touches[root].copy(), self.makes[root]
        at = bisect_left(touches, key)
        touches.insert(at, key)
        after = bisect_left(makes, key)
        end = makes[after] if after < len(makes) else NEVER
        follows = at + 1 < len(touches) and touches[at + 1] < end
        if made:
            self.makes[root] = [*makes[:after], key, *makes[after:]]
        self.touches[root] = touches
        self._index(root)
        return touches[at - 1], follows

    def _forget(self, root: int, key: int, made: bool) -> tuple[int, bool]:
        touches, makes = self.touches[root].copy(), self.makes[root]
        at = bisect_left(touches, key)
        del touches[at]
        after = bisect_left(makes, key + 1)
        end = makes[after] if after < len(makes) else NEVER
        follows = at < len(touches) and touches[at] < end
        if made:
            self.makes[root] = [*makes[: after - 1], *makes[after:]]
        self.touches[root] = touches
        self._index(root)
        return touches[at - 1], follows

    def _index(self, root: int) -> None:
        touches, makes = self.touches[root], self.makes[root]
        if len(makes) > 1:
            self.several[root] = None
            self.last[root] = touches[bisect_left(touches, makes[1]) - 1]
        else:
            self.several.pop(root, None)
            self.last[root] = touches[-1]

    def _take_over(self, key: int) -> None:
        """Count anew what a step takes over: the first of its candidates that dies there."""
        candidates = self.net.inplace[self.op(key)]
        if not candidates:
            return
        now = next((self.net.size[r] for r in candidates if self.makes[r] and self.span(r, key)[1] == key), 0)
        change = now - self.taken.get(key, 0)
        if change:
            self.taken[key] = now
            self.peaks[self._at(key)] -= change


def timeline(net: Net, codes: Iterable[int] = ()) -> Timeline:
    """A schedule, less what nothing reads: made from the most alike of those that are remembered."""
    wanted = set(codes)
    known = _known(net)
    near = next((line for line in known if line.codes == wanted), None)
    if near is not None:
        return near.copy()
    wanted = set(net.prune(codes))
    line = min(known, key=lambda line: len(line.codes ^ wanted)).copy()
    for code in sorted(line.codes - wanted, reverse=True):
        line.remove(code)
    for code in sorted(wanted - line.codes):
        line.insert(code)
    remember(line.copy())
    return line


def remember(line: Timeline) -> None:
    """Keep a schedule in which everything is read, and which does not change any more, to start from."""
    recent = line.net.memo["recent"]
    assert isinstance(recent, deque)
    recent.append(line)


def _known(net: Net) -> list[Timeline]:
    """Without recomputation, and those remembered last."""
    if "plain" not in net.memo:
        net.memo.update(plain=_plain(net), recent=deque(maxlen=_RECENT))
    plain, recent = net.memo["plain"], net.memo["recent"]
    assert isinstance(plain, Timeline) and isinstance(recent, deque)
    return [plain, *recent]


def _plain(net: Net) -> Timeline:
    n, m = net.n_forward, net.n_forward + 1
    keys = [*range(n), *(p * m + n for p in range(n, net.n_ops))]
    touches: list[Keys] = [[] for _ in net.size]
    makes: list[Keys] = [[] for _ in net.size]
    for op, key in enumerate(keys):
        for r in net.writes[op]:
            if r not in net.held:
                touches[r].append(key)
                makes[r].append(key)
        for r in net.reads[op]:
            if makes[r]:
                touches[r].append(key)
    first = np.array([ms[0] if ms else NEVER for ms in makes], dtype=np.int64)
    last = np.array([ts[-1] if ts else -1 for ts in touches], dtype=np.int64)
    line = Timeline(
        net, set(), keys, np.array(profile(net, ()).peaks, dtype=np.int64), touches, makes, first, last, {}, {}
    )
    for op, key in enumerate(keys):
        dead = next((net.size[r] for r in net.inplace[op] if makes[r] and touches[r][-1] == key), 0)
        if dead:
            line.taken[key] = dead
    return line
