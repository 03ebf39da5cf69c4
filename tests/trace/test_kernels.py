"""Ops come out of the tracer as eager runs them, or as others that give the same bits."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from hiremate_gen.trace import trace
from hiremate_gen.trace.kernels import eager_kernels


class Up(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        up = F.interpolate(self.conv(x), scale_factor=2, mode="bilinear", align_corners=False)
        return F.interpolate(up, scale_factor=2, mode="nearest").mean()


def test_interpolation_is_not_decomposed() -> None:
    traced = trace(Up(), (torch.randn(1, 2, 4, 4),), {})
    targets = {str(n.target) for n in traced.graph_module.graph.nodes}
    assert {"aten.upsample_bilinear2d.vec", "aten.upsample_nearest2d.vec"} & targets or {
        "aten.upsample_bilinear2d.default",
        "aten.upsample_nearest2d.default",
    } <= targets


def test_kernels_come_back() -> None:
    op = torch.ops.aten.upsample_bilinear2d.vec
    before = dict(op.py_kernels)
    with eager_kernels():
        assert op.py_kernels != before
    assert op.py_kernels == before


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("shape", [(7,), (33, 65), (4, 3, 130)])
def test_dropout_by_its_mask_gives_the_bits_of_eager(rate: float, shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    torch.manual_seed(3)
    eager, state = F.dropout(x, rate, True), torch.get_rng_state()
    torch.manual_seed(3)
    value, mask = torch.ops.aten.native_dropout(x, rate, True)
    assert torch.equal(eager, value)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(value, torch.ops.aten.native_dropout_backward(x, mask, 1.0 / (1.0 - rate)))
