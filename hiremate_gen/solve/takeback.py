"""Taking recomputation back where the budget allows it."""

from __future__ import annotations

from bisect import bisect_left

from hiremate_gen.solve.net import Codes, Net
from hiremate_gen.solve.timeline import Timeline, timeline


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
    """Whether what an op makes does not fit until it runs again, whatever its inputs give back."""
    net, key = line.net, line.key(code)
    op, at = code % net.n_forward, bisect_left(line.keys, key)
    low = bisect_left(
        line.keys, max((line.span(r, key - 1)[1] for r in net.writes[op] if r not in net.held), default=0)
    )
    if low + 1 >= at:
        return False
    needs = sum(net.size[r] for r in net.writes[op] if r not in net.held and line.span(r, key)[1] > key)
    gives = 0
    for r in net.reads[op]:
        if line.makes[r]:
            if line.code(line.span(r, key)[0]) >= 0:
                return False  # its input runs again, too: what goes with it is not looked at here
            gives += net.size[r]
    return int(line.peaks[low + 1 : at].max()) + needs - gives > budget


def reduce(net: Net, codes: Codes, budget: int) -> Codes:
    """`relax` a schedule."""
    line = timeline(net, codes)
    relax(line, budget)
    return line.done()
