"""An activation that backward multiplies by is returned beside the loss: it stays as it was."""

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 16)
        self.w = nn.Parameter(torch.randn(8, 16))

    def forward(self, x):
        h = self.a(x) + 1.0
        y = (h * self.w).sin()
        return y.mean(), h, self.a.weight


def example_inputs():
    return torch.randn(8, 16)
