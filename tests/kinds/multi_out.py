"""A list of outputs that all need gradients."""

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 16)
        self.b = nn.Linear(16, 16)
        self.c = nn.Linear(16, 3)

    def forward(self, x):
        f = []
        h = torch.tanh(self.a(x))
        f.append(h)
        h = torch.relu(self.b(h))
        f.append(h)
        return [*f, self.c(h)]


def example_inputs():
    return torch.randn(8, 16)
