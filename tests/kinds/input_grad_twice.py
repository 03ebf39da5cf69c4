"""An input that needs a gradient and is used twice in one block."""

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.Linear(8, 8)

    def forward(self, x):
        return (x + torch.tanh(self.b(x))).pow(2).mean()


def example_inputs():
    return torch.randn(16, 8, requires_grad=True)
