"""The rows and columns of the MILP of a net (FORMULATION.md, "MILP of a net")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hiremate_gen.solve.bound import gradients
from hiremate_gen.solve.net import Net
from hiremate_gen.solve.rows import Rows

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Model:
    """Columns: R first (binary), then S and L in [0, 1].  Rows whose right side holds the budget come last."""

    net: Net
    runs: dict[tuple[int, int], int]  # (stage, op) -> column
    stages: tuple[tuple[int, ...], ...]
    columns: int
    matrix: sp.csr_matrix
    right: Array
    budget_rows: int  # how many rows, from the end, get the budget added


@dataclass(slots=True)
class _Builder:
    net: Net
    stages: list[list[int]]
    last_use: list[int]  # root -> last stage at which a copy can be of use, -1 for none
    runs: dict[tuple[int, int], int]
    kept: dict[tuple[int, int], int]
    live: dict[tuple[int, int], int]  # (stage, root) -> column of L[t, i, 0]
    readers: dict[tuple[int, int], list[int]]
    order: Rows
    memory: Rows


def stages_of(net: Net) -> list[list[int]]:
    """Backward ops that share a stage: a stage starts with an op that reads forward roots; those after it read none."""
    groups: list[list[int]] = []
    for k in range(net.n_forward, net.n_ops):
        reads = any(0 <= net.producer[r] < net.n_forward and r not in net.held for r in net.reads[k])
        if reads or not groups or net.block[k] != net.block[k - 1]:
            groups.append([])
        groups[-1].append(k)
    return groups


def build(net: Net, stages: list[list[int]] | None = None) -> Model:
    """The model of a net without its budget: build once, solve for many.  Unless given, the stages are `stages_of`."""
    stages = stages_of(net) if stages is None else stages
    b = _Builder(net, stages, _last_use(net, stages), {}, {}, {}, {}, Rows(), Rows())
    _name_columns(b)
    columns = _name_lives(b)
    _lifetimes(b)
    _forward_memory(b)
    _stage_memory(b)
    matrix = sp.vstack([b.order.matrix(columns), b.memory.matrix(columns)], format="csr")
    right = np.array([*b.order.right, *b.memory.right])
    return Model(net, b.runs, tuple(tuple(s) for s in stages), columns, matrix, right, len(b.memory.right))


def _forward_roots(net: Net) -> list[int]:
    """Those that need columns: what weighs nothing and cannot be made again is simply there."""
    made = [r for r, p in enumerate(net.producer) if 0 <= p < net.n_forward and r not in net.held]
    return [r for r in made if net.size[r] or net.recomputable[net.producer[r]]]


def _last_use(net: Net, stages: list[list[int]]) -> list[int]:
    last = [-1] * len(net.size)
    for t, ops in enumerate(stages):
        for k in ops:
            for r in net.reads[k]:
                last[r] = t
    for v in reversed(range(net.n_forward)):
        if net.recomputable[v]:
            until = max((last[r] for r in net.writes[v] if r not in net.held), default=-1)
            for r in net.reads[v]:
                last[r] = max(last[r], until)
    return last


def _name_columns(b: _Builder) -> None:
    net = b.net
    for t, ops in enumerate(b.stages):
        for v in range(net.n_forward):
            until = max((b.last_use[r] for r in net.writes[v] if r not in net.held), default=-1)
            if net.stage_for(ops[0], v) == ops[0] and t <= until:
                b.runs[t, v] = len(b.runs)
    for r in _forward_roots(net):
        for t in range(b.last_use[r] + 1):
            b.kept[t, r] = len(b.runs) + len(b.kept)


def _name_lives(b: _Builder) -> int:
    columns = len(b.runs) + len(b.kept)
    readers: list[list[int]] = [[] for _ in b.net.size]
    for v in range(b.net.n_forward):
        for r in b.net.reads[v]:
            readers[r].append(v)
    for t, r in b.kept:
        b.readers[t, r] = [v for v in readers[r] if (t, v) in b.runs]
        b.live[t, r] = columns
        columns += len(b.readers[t, r]) + 1
    return columns


def _lifetimes(b: _Builder) -> None:
    """A copy is there when something reads it, and lives until its last reader."""
    net = b.net
    for t, ops in enumerate(b.stages):
        read = {r for k in ops for r in net.reads[k]}
        for r in _forward_roots(net):
            if (t, r) not in b.kept:
                continue
            first, readers = b.live[t, r], b.readers[t, r]
            terms = [(first, 1.0), (b.kept[t, r], -1.0)]
            made = b.runs.get((t, net.producer[r]))
            b.order.add(terms if made is None else [*terms, (made, -1.0)], 0.0)
            for j, w in enumerate(readers):
                b.order.add([(first + j + 1, 1.0), (first + j, -1.0)], 0.0)
                b.order.add([(b.runs[t, w], 1.0), (first + j, -1.0)], 0.0)
            end = first + len(readers)
            if r in read:
                b.order.add([(end, -1.0)], -1.0)
            if (t + 1, r) in b.kept:
                b.order.add([(b.kept[t + 1, r], 1.0), (end, -1.0)], 0.0)


def _forward_memory(b: _Builder) -> None:
    net = b.net
    last = [-1] * len(net.size)
    for v in range(net.n_forward):
        for r in net.reads[v]:
            last[r] = v
    fixed = net.base
    for v in range(net.n_forward):
        terms, sure = [], fixed + net.out[v] + net.work[v]
        for r in _forward_roots(net):
            if net.producer[r] >= v:
                continue
            taken = bool(net.inplace[v]) and r == net.inplace[v][0] and last[r] == v
            if last[r] >= v and not taken:
                sure += net.size[r]
            elif (0, r) in b.kept:
                terms.append((b.kept[0, r], float(net.size[r])))
        b.memory.add(terms, -float(sure))
        fixed += sum(net.size[r] for r in net.writes[v] if r in net.held)


def _stage_memory(b: _Builder) -> None:
    net, (during, after) = b.net, gradients(b.net)
    for t, ops in enumerate(b.stages):
        roots = [r for r in _forward_roots(net) if (t, r) in b.kept]
        for v in range(net.n_forward):
            if (t, v) in b.runs:
                terms = [(b.runs[t, v], float(net.out[v] + net.work[v]))]
                terms += [(_live_at(b, t, r, v), float(net.size[r])) for r in roots if net.producer[r] != v]
                b.memory.add(terms, -float(after[ops[0] - 1]))
        for at, k in enumerate(ops):
            needed = {r for later in ops[at:] for r in net.reads[later]}
            if net.inplace[k] and not any(net.inplace[k][0] in net.reads[later] for later in ops[at + 1 :]):
                needed.discard(net.inplace[k][0])
            sure = during[k] + sum(net.size[r] for r in roots if r in needed)
            following = [r for r in roots if r not in needed and (t + 1, r) in b.kept]
            b.memory.add([(b.kept[t + 1, r], float(net.size[r])) for r in following], -float(sure))


def _live_at(b: _Builder, t: int, r: int, v: int) -> int:
    """The column that says whether root r is live while op v runs again in stage t."""
    if b.net.producer[r] > v:
        return b.kept[t, r]
    before = sum(w < v for w in b.readers[t, r])
    taken = bool(b.net.inplace[v]) and r == b.net.inplace[v][0]
    return b.live[t, r] + before + (1 if taken else 0)
