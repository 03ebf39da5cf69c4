"""When two tensors, or two trees of them, are the same bit for bit, and words for when they are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import keystr, tree_flatten_with_path


def difference(name: str, eager: object, generated: object) -> str | None:
    """What tells two values apart, in words; None when they are the same.  NaNs in the same places are the same."""
    if not isinstance(eager, Tensor) or not isinstance(generated, Tensor):
        return _plain(name, eager, generated)
    if eager.shape != generated.shape or eager.dtype != generated.dtype:
        return f"{name} is {_kind(generated)}, {_kind(eager)} in eager"
    if eager.is_sparse or generated.is_sparse:
        eager, generated = eager.to_dense(), generated.to_dense()
    if torch.equal(eager, generated):
        return None
    unequal = eager != generated
    if eager.dtype.is_floating_point or eager.dtype.is_complex:
        unequal &= ~(eager.isnan() & generated.isnan())
    count = int(unequal.sum())
    return _words(name, eager, generated, unequal, count) if count else None


def tree_difference(name: str, eager: object, generated: object) -> str | None:
    """First leaf that tells two outputs apart."""
    ours, theirs = list(_leaves(eager)), list(_leaves(generated))
    if [path for path, _ in ours] != [path for path, _ in theirs]:
        return f"{name} has another structure than eager's"
    pairs = ((f"{name}{path}", a, b) for (path, a), (_, b) in zip(ours, theirs, strict=True))
    return next((d for d in (difference(*pair) for pair in pairs) if d is not None), None)


def _leaves(tree: object) -> Iterator[tuple[str, Any]]:
    for path, leaf in tree_flatten_with_path(tree)[0]:
        yield keystr(path), leaf


def _plain(name: str, eager: object, generated: object) -> str | None:
    if isinstance(eager, Tensor) or isinstance(generated, Tensor):
        return f"{name} is {_kind(generated)}, {_kind(eager)} in eager"
    same = eager is generated or eager == generated or (eager != eager and generated != generated)
    return None if same else f"{name} is {generated!r}, {eager!r} in eager"


def _words(name: str, eager: Tensor, generated: Tensor, unequal: Tensor, count: int) -> str:
    text = f"{name} differs in {count} of {eager.numel()} elements"
    if eager.dtype == torch.bool:
        return text
    wide = torch.complex128 if eager.dtype.is_complex else torch.float64
    gap = (eager[unequal].to(wide) - generated[unequal].to(wide)).abs().nan_to_num(float("inf"))
    return f"{text}, by up to {float(gap.max()):.3g}"


def _kind(value: object) -> str:
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return "None" if value is None else f"a {type(value).__name__}"
