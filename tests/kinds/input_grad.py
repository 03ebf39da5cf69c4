"""An input that needs a gradient."""

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = nn.Linear(8, 1)

    def forward(self, x, y):
        return self.b(torch.tanh(self.a(x) * y)).mean()


def example_inputs():
    return (torch.randn(8, 8, requires_grad=True), torch.randn(8, 8))
