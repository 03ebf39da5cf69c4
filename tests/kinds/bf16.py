"""Two types of numbers."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 64).bfloat16()
        self.b = nn.Linear(64, 16)

    def forward(self, x):
        return self.b(F.gelu(self.a(x.bfloat16())).float()).pow(2).mean()


def example_inputs():
    return torch.randn(8, 16)
