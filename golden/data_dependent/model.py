"""A model whose path depends on the values of its input: it cannot be planned."""

import torch
from torch import Tensor, nn


class Gate(nn.Module):
    def __init__(self, dim: int = 64) -> None:
        super().__init__()
        self.left = nn.Linear(dim, dim)
        self.right = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return self.left(x)
        return self.right(x)


def example_inputs() -> Tensor:
    return torch.randn(32, 64)
