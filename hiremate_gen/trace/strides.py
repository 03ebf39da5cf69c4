"""The layouts that CPU kernels give their results, where torch's fake kernels say otherwise.

A plan made for the wrong strides views what cannot be viewed, or copies what eager does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table
from torch._ops import OpOverload
from torch._prims_common import suggest_memory_format
from torch._subclasses.fake_impls import op_implementations_dict
from torch._subclasses.fake_tensor import FakeTensorMode

aten = torch.ops.aten

Like = Callable[[Tensor, tuple[Any, ...]], Tensor]  # the first result and the arguments -> a tensor laid out as it


def _dense(result: Tensor, args: tuple[Any, ...]) -> Tensor:
    return result.new_empty(result.shape)


def _as(position: int) -> Like:
    """Dense, or channels-last where that argument lies so."""

    def like(result: Tensor, args: tuple[Any, ...]) -> Tensor:
        layout = suggest_memory_format(args[position])
        return torch.empty(result.shape, dtype=result.dtype, device=result.device, memory_format=layout)

    return like


def _product(result: Tensor, args: tuple[Any, ...]) -> Tensor:
    product: Tensor = args[0] * args[1]
    return product.to(result.dtype)


_KERNELS: dict[OpOverload, Like] = {
    aten.native_dropout_backward.default: _product,
    aten._log_softmax_backward_data.default: _dense,
    aten.native_layer_norm_backward.default: _dense,
    aten.mse_loss_backward.default: _dense,
    aten.native_batch_norm.default: _as(0),
    aten._native_batch_norm_legit.default: _as(0),
    aten._native_batch_norm_legit_functional.default: _as(0),
    aten.native_batch_norm_backward.default: _as(1),
    aten.native_group_norm_backward.default: _as(1),
}


_VIEWS = (aten.view.default, aten._unsafe_view.default)


@contextmanager
def eager_strides() -> Iterator[None]:
    """While inside, fake results of `_KERNELS` and of views are laid out as real ones.

    Fake tensors take these ops from torch's table of decompositions, those with the names of its own functions alone.
    """
    before = {op: decomposition_table[op] for op in _KERNELS if op in decomposition_table}
    for op, kernel in before.items():
        decomposition_table[op] = _laid_out(kernel, _KERNELS[op])
    views = {op: op_implementations_dict[op] for op in _VIEWS}
    op_implementations_dict.update({op: _viewed(kernel) for op, kernel in views.items()})
    FakeTensorMode.cache_clear()
    try:
        yield
    finally:
        op_implementations_dict.update(views)
        for op, kernel in before.items():
            decomposition_table[op] = kernel
        FakeTensorMode.cache_clear()


def _laid_out(kernel: Callable[..., Any], like: Like) -> Callable[..., Any]:
    """The first result of a fake kernel with the strides of the real one."""

    @wraps(kernel)
    def laid_out(*args: Any, **kwargs: Any) -> Any:
        given = kernel(*args, **kwargs)
        results = list(given) if isinstance(given, (tuple, list)) else [given]
        if isinstance(results[0], Tensor) and results[0].device.type == "cpu":
            results[0] = like(results[0], args)
        return tuple(results) if isinstance(given, (tuple, list)) else results[0]

    return laid_out


def _viewed(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A fake view, whose strides along dimensions of one element decide what counts as channels-last later on."""

    @wraps(kernel)
    def viewed(mode: FakeTensorMode, op: OpOverload, t: Tensor, shape: Sequence[int]) -> Any:
        if all(type(n) is int for n in (*t.shape, *shape)) and t.numel():
            rest = prod(n for n in shape if n != -1)
            sizes = [t.numel() // rest if n == -1 else n for n in shape]
            strides = view_strides(t.shape, t.stride(), sizes)
            if strides is not None:
                return t.as_strided(sizes, strides, t.storage_offset())
        return kernel(mode, op, t, shape)

    return viewed


def view_strides(old: Sequence[int], strides: Sequence[int], new: Sequence[int]) -> list[int] | None:
    """Strides of a view of `new` sizes, as torch's C++ (`computeStride`) finds them; None where there is no such view.

    There are elements.
    """
    if not old:
        return [1] * len(new)
    found = [0] * len(new)
    at = len(new) - 1
    base, count, viewed = strides[-1], 1, 1  # of the stretch of `old` that lies evenly in memory
    for d in reversed(range(len(old))):
        count *= old[d]
        if d and (old[d - 1] == 1 or strides[d - 1] == count * base):
            continue
        while at >= 0 and (viewed < count or new[at] == 1):
            found[at] = viewed * base
            viewed *= new[at]
            at -= 1
        if viewed != count:
            return None
        if d:
            base, count, viewed = strides[d - 1], 1, 1
    return found if at == -1 else None
