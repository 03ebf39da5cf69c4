"""What the model returns, and which of it a gradient is planned for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from hiremate_gen.trace.contract import is_namedtuple


@dataclass(frozen=True)
class Leaf:
    """One leaf of what the model returns: a tensor, or the value `constant`.

    `differentiable` tells whether the plan expects a gradient for it.
    """

    constant: Any
    is_tensor: bool
    differentiable: bool


def differentiable(live: Mapping[int, torch.Tensor], structure: pytree.TreeSpec) -> frozenset[int]:
    """Of the outputs that need gradients (by index): the scalar losses, else every floating-point one.

    Of outputs with names (a named tuple) and no scalar among them the first stands for all, as trainers use them.
    """
    floating = [i for i, v in sorted(live.items()) if v.is_floating_point() or v.is_complex()]
    scalars = [i for i in floating if live[i].ndim == 0]
    if scalars:
        return frozenset(scalars)
    return frozenset(floating[:1] if is_namedtuple(structure) else floating)
