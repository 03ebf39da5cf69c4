"""Real tensors for an op's fake ones: the same shapes, strides and dtypes, values that every op accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from hiremate_gen.graph.call import numel, tensors

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def real_arguments(
    target: str, args: Sequence[Any], kwargs: Mapping[str, Any], device: str, generator: torch.Generator
) -> Arguments:
    """Arguments to call an op with.  Integers are valid as indices and as classes; floats lie in [0.5, 1.5)."""
    limit = _index_limit(target, args)
    rising = target == "aten._embedding_bag.default"  # where bags begin

    def fill(value: Any) -> Any:
        if isinstance(value, Tensor):
            return _real(value, device, generator, limit, rising)
        return torch.device(device) if isinstance(value, torch.device) else value

    return tree_map(fill, tuple(args)), tree_map(fill, dict(kwargs))


def _index_limit(target: str, args: Sequence[Any]) -> int:
    """Smallest dimension of the first tensor that is not an index: in range for every op that indexes one."""
    values = [t for t in tensors(args) if t.dtype.is_floating_point or t.dtype.is_complex]
    limit = min((int(n) for n in values[0].shape if n > 0), default=1) if values else 1
    return min(limit, int(args[2])) if target == "aten.embedding_dense_backward.default" else limit


def _real(fake: Tensor, device: str, generator: torch.Generator, limit: int, rising: bool) -> Tensor:
    made = torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype, device=device)
    flat = torch.empty(0, dtype=fake.dtype, device=device).set_(made.untyped_storage())
    if fake.dtype == torch.bool:
        flat.copy_(torch.rand(flat.shape, generator=generator) < 0.9)
    elif fake.dtype.is_floating_point or fake.dtype.is_complex:
        flat.copy_(torch.rand(flat.shape, generator=generator) + 0.5)
    else:
        numbers = torch.arange(numel(flat))
        flat.copy_(numbers * limit // max(1, numel(flat)) if rising else numbers % limit)
    return made.conj() if fake.is_complex() and fake.is_conj() else made
