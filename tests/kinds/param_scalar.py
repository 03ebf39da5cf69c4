"""Parameters that are added to: several gradients are one tensor."""

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = nn.Parameter(torch.tensor(0.5))
        self.a = nn.Linear(8, 8)
        self.pos = nn.Parameter(torch.randn(8, 8))
        self.q = nn.Parameter(torch.randn(8, 8))

    def forward(self, x):
        x = x + self.pos + self.q
        return (self.a(x) * self.s + self.pos).sum() + self.s


def example_inputs():
    return torch.randn(8, 8)
