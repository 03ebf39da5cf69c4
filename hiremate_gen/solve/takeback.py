"""Taking recomputation back where the budget allows it."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from hiremate_gen.solve.net import Codes, Net
from hiremate_gen.solve.timeline import NEVER, Timeline, remember, timeline


def relax(line: Timeline, budget: int) -> None:
    """Take back recomputation that `budget` bytes do not need, dearest first, until nothing more can go."""
    net = line.net
    changed = True
    while changed and line.codes:
        changed = False
        for code in sorted(line.codes, key=lambda c: (-net.time_s[c % net.n_forward], c)):
            if code in line.codes and not _hopeless(line, code, budget):
                gone = line.take_out(code)
                if line.peak <= budget:
                    changed = True
                    continue
                for one in gone:
                    line.insert(one)


def _hopeless(line: Timeline, code: int, budget: int) -> bool:
    """Whether what an op makes does not fit until it runs again, whatever would be free without it."""
    net, key = line.net, line.key(code)
    writes, at = net.writes[code % net.n_forward], bisect_left(line.keys, key)
    low = bisect_left(line.keys, max((line.span(r, key - 1)[1] for r in writes if r not in net.held), default=0))
    if low + 1 >= at:
        return False
    needs = sum(net.size[r] for r in writes if r not in net.held and line.span(r, key)[1] > key)
    allowed = budget - needs
    if int(line.peaks[low + 1 : at].max()) <= allowed:
        return False
    gives, gone = _gives(line, code)
    places = [k - low - 1 for k in (bisect_left(line.keys, other) for other in gone) if low < k < at]
    window = line.peaks[low + 1 : at]
    return int((np.delete(window, places) if places else window).max(initial=0)) > allowed + gives


def _gives(line: Timeline, code: int) -> tuple[int, set[int]]:
    """At most how many bytes are free at any one step when a code goes, and the keys of what may go with it.

    Only that is free which nothing else reads later; what runs again for it alone goes with it.
    """
    net, gives = line.net, 0
    gone: set[int] = set()
    todo, counted = [line.key(code)], set()
    while todo:
        key = max(todo)  # readers before what they read, so that all that goes and reads a root is known
        todo.remove(key)
        gone.add(key)
        for r in net.reads[line.op(key)]:
            made, end = line.span(r, key) if line.makes[r] else (NEVER, -1)
            if end in gone and (r, made) not in counted:
                counted.add((r, made))
                gives += net.size[r]
                if line.code(made) >= 0 and made not in todo:
                    todo.append(made)
    return gives, gone


def reduce(net: Net, codes: Codes, budget: int) -> Codes:
    """`relax` a schedule."""
    line = timeline(net, codes)
    relax(line, budget)
    remember(line)
    return line.done()
