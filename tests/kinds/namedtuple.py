"""A named tuple: trainers use its first field."""

from typing import NamedTuple

import torch
import torch.nn as nn


class Out(NamedTuple):
    logits: torch.Tensor
    hidden: torch.Tensor


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 16)
        self.b = nn.Linear(16, 16)

    def forward(self, x):
        h = torch.tanh(self.a(x))
        return Out(self.b(h), h)


def example_inputs():
    return torch.randn(8, 16)
