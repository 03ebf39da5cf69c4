"""The layouts that CPU kernels give their results, where torch's fake kernels say otherwise.

A plan made for the wrong strides views what cannot be viewed, or copies what eager does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table
from torch._ops import OpOverload
from torch._prims_common import suggest_memory_format
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


@contextmanager
def eager_strides() -> Iterator[None]:
    """While inside, fake results of `_KERNELS` are laid out as real ones.

    Fake tensors take these ops from torch's table of decompositions, those with the names of its own functions alone.
    """
    before = {op: decomposition_table[op] for op in _KERNELS if op in decomposition_table}
    for op, kernel in before.items():
        decomposition_table[op] = _laid_out(kernel, _KERNELS[op])
    FakeTensorMode.cache_clear()
    try:
        yield
    finally:
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
