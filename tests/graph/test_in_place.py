"""Results over an operand have the bits of results of their own, in whatever order the operands lie in memory."""

from __future__ import annotations

from itertools import permutations

import pytest
import torch
from torch import Tensor
from torch._ops import OpOverload

from hiremate_gen.graph.kinds import IN_PLACE, overwrites

DTYPES = (torch.float32, torch.bfloat16, torch.complex64, torch.complex128)
SHAPES = ((33,), (7, 17), (5, 8, 33))


def laid_out(shape: tuple[int, ...], order: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Random numbers that lie in memory in this order of dimensions."""
    return torch.randn([shape[d] for d in order], dtype=dtype).permute([order.index(d) for d in range(len(order))])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("op", [torch.ops.aten.add.Tensor, torch.ops.aten.sub.Tensor, torch.ops.aten.mul.Tensor,
                                torch.ops.aten.div.Tensor], ids=str)  # fmt: skip
def test_two_operands(op: OpOverload, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    method = f"{op._schema.name.split('::')[1]}_"
    tried = 0
    for shape in SHAPES:
        for orders in [(p, q) for p in permutations(range(len(shape))) for q in permutations(range(len(shape)))]:
            pair = [laid_out(shape, order, dtype) for order in orders]
            out = op(*pair)
            for at in overwrites(op, scaled=False, is_complex=dtype.is_complex):
                if pair[at].stride() == out.stride():
                    assert torch.equal(getattr(pair[at].clone(), method)(pair[1 - at]), out), (shape, orders)
                    tried += 1
    assert tried or dtype.is_complex


def test_complex_products_are_left_alone() -> None:
    left = {op for op in IN_PLACE if overwrites(op, scaled=False, is_complex=True)}
    assert {torch.ops.aten.add.Tensor, torch.ops.aten.neg.default} < left
    assert not left & {torch.ops.aten.mul.Tensor, torch.ops.aten.mul.Scalar, torch.ops.aten.div.Tensor}
    assert not overwrites(torch.ops.aten.add.Tensor, scaled=True, is_complex=True)
