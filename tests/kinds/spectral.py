"""Spectral norm updates its vectors once a step, in forward."""

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.utils.parametrizations.spectral_norm(nn.Linear(16, 32))
        self.b = nn.utils.spectral_norm(nn.Linear(32, 8))

    def forward(self, x):
        return self.b(torch.tanh(self.a(x))).pow(2).mean()


def example_inputs():
    return torch.randn(32, 16)
