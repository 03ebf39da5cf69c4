"""One tensor in two places of what the model returns, with a gradient for each."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(16, 64)
        self.down = nn.Linear(64, 16)

    def forward(self, x):
        y = self.down(torch.tanh(self.up(x)))
        return y, torch.tanh(y), y


def example_inputs():
    return torch.randn(64, 16)
