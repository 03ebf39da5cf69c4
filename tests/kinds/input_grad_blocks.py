"""An input that needs a gradient and is added in every block: parts of its gradient are also those of other blocks."""

import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = nn.Linear(8, 8)

    def forward(self, y, x):
        return self.b(torch.sigmoid(self.a(torch.tanh(y)))) + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        y = x
        for block in self.blocks:
            y = block(y, x)
        return self.head(y).pow(2).mean()


def example_inputs():
    return torch.randn(16, 8, requires_grad=True)
