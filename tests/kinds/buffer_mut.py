"""Buffers that are read before and after they are written."""

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.register_buffer("count", torch.zeros(8))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        y = self.a(x) * (self.count + 1.0)
        self.count.add_(1)
        self.steps += 1
        z = torch.sigmoid(y) * self.count.clone()
        self.count.mul_(0.5).add_(z.detach().mean(0))
        return z.pow(2).mean()


def example_inputs():
    return torch.randn(8, 8)
