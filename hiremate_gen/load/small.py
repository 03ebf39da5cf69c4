"""Small tensors with values inside a mode of fake ones.

`[x.item() for x in torch.linspace(0, rate, depth)]` is in the constructor of most vision transformers.  It must not
force a model of billions of parameters into real memory: what is computed from small factories alone is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

_ELEMENTS = 4096  # the outer product of two such tensors still is small
_FACTORIES = {torch.linspace, torch.logspace, torch.arange, torch.tensor, torch.as_tensor, torch.from_numpy}


class SmallValues(TorchFunctionMode):
    """Inside a FakeTensorMode: factories of small tensors, and whatever reads only those, run for real."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        leaves = pytree.tree_leaves((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        small = all(not isinstance(t, FakeTensor) and t.numel() <= _ELEMENTS for t in tensors)
        if small and (tensors or (func in _FACTORIES and not _is_large(leaves))):
            with unset_fake_temporarily():
                return func(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _is_large(leaves: Sequence[Any]) -> bool:
    return any(isinstance(x, int | float) and abs(x) > _ELEMENTS for x in leaves) or len(leaves) > _ELEMENTS
