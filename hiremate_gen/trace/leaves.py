"""What the model returns, and which of it a gradient is planned for."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from hiremate_gen.trace.contract import is_namedtuple


@dataclass(frozen=True)
class Leaf:
    """One leaf of what the model returns: a tensor, or the value `constant`.

    `differentiable` tells whether the plan expects a gradient for it, `detached` that eager's takes none either.
    """

    constant: Any
    is_tensor: bool
    differentiable: bool
    detached: bool = False


def differentiable(live: Mapping[int, torch.Tensor], structure: pytree.TreeSpec) -> frozenset[int]:
    """Of the outputs that need gradients (by index): the loss, else every floating-point one.

    The loss is the scalar called "loss", else the first scalar; others beside it are there to be looked at.
    Of outputs with names (a named tuple) and no scalar among them the first stands for all, as trainers use them.
    """
    floating = [i for i, v in sorted(live.items()) if v.is_floating_point() or v.is_complex()]
    scalars = [i for i in floating if live[i].ndim == 0]
    if scalars:
        named = [i for i in scalars if i == _called_loss(structure)]
        return frozenset(named or scalars[:1])
    once = {id(live[i]): i for i in reversed(floating)}  # what is returned several times is one tensor
    return frozenset(floating[:1] if is_namedtuple(structure) else once.values())


def _called_loss(structure: pytree.TreeSpec) -> int | None:
    """Index of the leaf that a dict or a class with fields holds under "loss"."""
    if structure.is_leaf():
        return None
    if structure.type in (dict, OrderedDict):
        names = list(structure.context)
    elif is_namedtuple(structure):
        names = list(structure.context._fields)
    elif dataclasses.is_dataclass(structure.type) and isinstance(structure.context, list):
        names = structure.context[0]
    else:
        return None
    if "loss" not in names:
        return None
    return sum(child.num_leaves for child in structure.children()[: names.index("loss")])
