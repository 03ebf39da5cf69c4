"""Fake results of the ops that torch lays out otherwise than their CPU kernels do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_map

from hiremate_gen.trace.strides import eager_strides, view_strides

aten = torch.ops.aten


def layouts(t: Tensor) -> Iterator[Tensor]:
    """The same values in several orders of memory."""
    yield t
    swapped = (*range(t.ndim - 2), t.ndim - 1, t.ndim - 2)
    yield t.permute(swapped).contiguous().permute(swapped)
    first = (1, 0, *range(2, t.ndim))
    yield t.permute(first).contiguous().permute(first)
    yield torch.cat([t, t], -1)[..., : t.shape[-1]]
    if t.ndim == 4:
        yield t.contiguous(memory_format=torch.channels_last)


X, G, IMAGE = torch.randn(4, 6, 8), torch.randn(4, 6, 8), torch.randn(4, 6, 8, 8)
ROW, MEAN = torch.rand(6), torch.rand(4, 6, 1)
CALLS: dict[str, tuple[Any, tuple[Any, ...], tuple[int, ...]]] = {  # op, arguments, which of them lie otherwise
    "dropout": (aten.native_dropout_backward.default, (G, X > 0, 1.1), (0,)),
    "log_softmax": (aten._log_softmax_backward_data.default, (G, X, 1, torch.float32), (0, 1)),
    "layer_norm": (
        aten.native_layer_norm_backward.default,
        (G, X, [8], MEAN, MEAN, torch.rand(8), torch.rand(8), [True, True, True]),
        (0, 1),
    ),
    "mse": (aten.mse_loss_backward.default, (torch.tensor(1.0), X, G, 1), (1, 2)),
    "batch_norm": (aten.native_batch_norm.default, (IMAGE, ROW, ROW, None, None, True, 0.1, 1e-5), (0,)),
    "batch_norm_backward": (
        aten.native_batch_norm_backward.default,
        (IMAGE + 1, IMAGE, ROW, None, None, ROW, ROW, True, 1e-5, [True, True, True]),
        (0, 1),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_real(name: str) -> None:
    op, args, moving = CALLS[name]
    for position in moving:
        for moved in layouts(args[position]):
            given = [*args[:position], moved, *args[position + 1 :]]
            real = op(*given)
            with eager_strides(), FakeTensorMode() as mode:
                fake = op(*tree_map(lambda a, m=mode: m.from_tensor(a) if isinstance(a, Tensor) else a, given))
            pairs = zip(real, fake, strict=True) if isinstance(real, tuple) else [(real, fake)]
            assert all(a.stride() == b.stride() and a.dtype == b.dtype for a, b in pairs), (position, moved.stride())


def test_group_norm_channels_last() -> None:
    moved = IMAGE.contiguous(memory_format=torch.channels_last)
    args = (moved, moved, torch.rand(4, 2), torch.rand(4, 2), ROW, 4, 6, 64, 2, [True, True, True])
    real = aten.native_group_norm_backward.default(*args)
    with eager_strides(), FakeTensorMode() as mode:
        fake = aten.native_group_norm_backward.default(
            *tree_map(lambda a: mode.from_tensor(a) if isinstance(a, Tensor) else a, args)
        )
    assert real[0].stride() == fake[0].stride()


SHAPES = [(1, 6, 8), (6, 1, 8), (6, 8, 1), (1, 1, 48), (2, 3, 8), (48,), (4, 12), (1, 48, 1)]
VIEWS = [(1, 6, 2, 4), (6, 8), (48,), (1, 48), (48, 1), (2, 3, 1, 8), (6, 1, 2, 4), (1, 1, 6, 8), (3, 2, 8), (2, 1, 24)]


@pytest.mark.parametrize("shape", SHAPES)
def test_views(shape: tuple[int, ...]) -> None:
    dense = torch.randn(48).view(shape)
    for a in range(dense.ndim):
        for b in range(dense.ndim):
            for t in (dense.transpose(a, b), dense.transpose(a, b).contiguous().transpose(a, b)):
                for sizes in VIEWS:
                    try:
                        real = t.view(sizes).stride()
                    except RuntimeError:
                        assert view_strides(t.shape, t.stride(), sizes) is None
                        continue
                    with eager_strides(), FakeTensorMode() as mode:
                        assert mode.from_tensor(t).view(sizes).stride() == real
