"""Rows that make the MILP's relaxation as tight as the lower bound (FORMULATION.md, "Lower bound").

Half of a value, kept, makes a whole reader of it in two stages of the relaxation, a half in each; so its bound is far
below the truth.  At a moment m a value is there or not.  With s_i: root i is there at m, and z_v: op v runs again
after m,

    s_i + z_p(i) >= 1 (read after m)    z_w <= s_i + z_p(i) (w reads i)    sum b_i s_i <= P - fixed(m)
    z_v <= sum over stages t after m of R[t,v]

hold for every schedule, and leave the relaxation no less than the bound at m.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from hiremate_gen.solve.bound import dear_moments, forward_root, gradients, room
from hiremate_gen.solve.model import Model
from hiremate_gen.solve.rows import Rows

MOMENTS = 10  # beside the one when the loss exists


def tightened(model: Model) -> Model:
    """The same schedules, with rows for the loss and for the dearest moment of each stretch of backward."""
    sums = gradients(model.net)
    for moment in [model.net.n_forward - 1, *dear_moments(model.net, MOMENTS)]:
        model = _at(model, moment, sums)
    return model


def _at(model: Model, moment: int, sums: tuple[list[int], list[int]]) -> Model:
    """With the columns s and z and the rows of the moment while op `moment` runs; after it, when that is the loss."""
    net = model.net
    mine = [r for r in range(len(net.size)) if forward_root(net, r)]
    there = {r: model.columns + k for k, r in enumerate(mine)}
    again = {v: model.columns + len(mine) + v for v in range(net.n_forward)}
    order, memory = Rows(), Rows()
    space, present = room(net, 0, moment, sums)  # the budget is added to the right side later
    read = {r for k in range(moment + 1, net.n_ops) for r in net.reads[k] if r in there}
    for r in present:
        if r in there:
            order.add([(there[r], -1.0)], -1.0)
    for r in sorted(read):
        order.add([(there[r], -1.0), (again[net.producer[r]], -1.0)], -1.0)
    for v in range(net.n_forward):
        for r in net.reads[v]:
            if r in there:
                order.add([(again[v], 1.0), (there[r], -1.0), (again[net.producer[r]], -1.0)], 0.0)
        runs = [column for (t, w), column in model.runs.items() if w == v and model.stages[t][0] > moment]
        order.add([(again[v], 1.0), *((column, -1.0) for column in runs)], 0.0)
    memory.add([(column, float(net.size[r])) for r, column in there.items()], float(space))
    return _joined(model, order, memory, len(mine) + net.n_forward)


def _joined(model: Model, order: Rows, memory: Rows, more: int) -> Model:
    """A model with `more` columns and with rows, those that get the budget last."""
    columns, first = model.columns + more, len(model.right) - model.budget_rows
    old = sp.hstack([model.matrix, sp.csr_matrix((len(model.right), more))], format="csr")
    matrix = sp.vstack([old[:first], order.matrix(columns), old[first:], memory.matrix(columns)], format="csr")
    right = [*model.right[:first], *order.right, *model.right[first:], *memory.right]
    return replace(model, columns=columns, matrix=matrix, right=np.array(right), budget_rows=model.budget_rows + 1)
