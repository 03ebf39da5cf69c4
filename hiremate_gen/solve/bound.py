"""How little any schedule within the budget must recompute (FORMULATION.md, "Lower bound")."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hiremate_gen.solve.net import Net, profile
from hiremate_gen.solve.rows import Rows

LARGE = 2000  # forward ops beyond which only the loss is looked at


def lower_bound(net: Net, budget: int, moments: int = 12) -> float:
    """Seconds of recomputation that every schedule whose peak is at most `budget` bytes has at least.

    The largest over the moment when the loss exists and at most `moments` others of backward; 0 when nothing is proven.
    """
    return max(single(net, budget, moments).values(), default=0.0)


def single(net: Net, budget: int, moments: int = 12) -> dict[int, float]:
    """What single moments prove, in seconds: the loss (its op is the last of forward), and some backward ops."""
    sums = gradients(net)
    looked = [net.n_forward - 1, *dear_moments(net, moments)]
    return {k: _least(net, *room(net, budget, k, sums), k + 1) for k in looked}


def room(net: Net, budget: int, moment: int, sums: tuple[list[int], list[int]]) -> tuple[int, tuple[int, ...]]:
    """Bytes for the roots made in forward at a moment (while a backward op runs, or after the last of forward), and
    those of them that are there in any case; `sums` are the net's `gradients`."""
    during, after = sums
    if moment < net.n_forward:
        return budget - after[moment], ()
    taken = sum(net.size[r] for r in net.inplace[moment] if forward_root(net, r))
    return budget - during[moment] + taken, net.reads[moment]


def gradients(net: Net) -> tuple[list[int], list[int]]:
    """Bytes of all but the roots made in forward (held ones count) while each op runs and after it."""
    size = tuple(0 if forward_root(net, r) else s for r, s in enumerate(net.size))
    bare = replace(
        net,
        size=size,
        out=tuple(sum(size[r] for r in rs) for rs in net.writes),
        inplace=tuple(tuple(r for r in rs if not forward_root(net, r)) for rs in net.inplace),
    )
    run = profile(bare, ())
    return run.peaks, run.after


def forward_root(net: Net, root: int) -> bool:
    """Whether planning decides how long a root lives."""
    return 0 <= net.producer[root] < net.n_forward and root not in net.held


def dear_moments(net: Net, most: int) -> list[int]:
    """Backward ops to look at: those where keeping everything costs most, one for each stretch of backward."""
    if net.n_forward > LARGE or net.n_ops == net.n_forward:
        return []
    peaks = profile(net, ()).peaks
    count = net.n_ops - net.n_forward
    found = set()
    for j in range(most):
        stretch = range(net.n_forward + count * j // most, net.n_forward + count * (j + 1) // most)
        if stretch:
            found.add(max(stretch, key=lambda k: (peaks[k], -k)))
    return sorted(found)


def _least(net: Net, space: int, present: tuple[int, ...], start: int) -> float:
    """The LP: what ops from `start` on read is kept in `space` bytes (`present` roots always are) or made again."""
    from scipy.optimize import linprog

    n = net.n_forward
    roots = [r for r in range(len(net.size)) if forward_root(net, r)]
    place = {r: n + k for k, r in enumerate(roots)}
    read = {r for k in range(start, net.n_ops) for r in net.reads[k] if r in place}
    if sum(net.size[r] for r in read.union(r for r in present if r in place)) <= max(space, 0):
        return 0.0  # there is room for all
    rows = Rows()
    for r in sorted(read):
        rows.add([(place[r], -1.0), (net.producer[r], -1.0)], -1.0)
    for w in range(n):
        for r in net.reads[w] if net.recomputable[w] else ():
            if r in place:
                rows.add([(w, 1.0), (place[r], -1.0), (net.producer[r], -1.0)], 0.0)
    rows.add([(place[r], float(net.size[r]) / max(space, 1)) for r in roots], 1.0 if space > 0 else 0.0)
    matrix, right = rows.matrix(n + len(roots)), np.array(rows.right)
    upper = np.array([1.0 if ok else 0.0 for ok in net.recomputable[:n]] + [1.0] * len(roots))
    lower = np.array([0.0] * n + [1.0 if r in present else 0.0 for r in roots])
    scale = max(sum(net.time_s[:n]), 1e-30)
    cost = np.array([*(t / scale for t in net.time_s[:n]), *(0.0 for _ in roots)])
    answer = linprog(cost, A_ub=matrix, b_ub=right, bounds=np.stack([lower, upper], axis=1), method="highs")
    return max(float(answer.fun) * scale * (1 - 1e-7), 0.0) if answer.status == 0 else 0.0
