"""Low-rank adapters on frozen layers."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Lora(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Linear(d, d)
        self.w.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(2, d) * 0.1)
        self.B = nn.Parameter(torch.zeros(d, 2))

    def forward(self, x):
        return self.w(x) + F.linear(F.linear(x, self.A), self.B)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.ModuleList([Lora(16) for _ in range(3)])

    def forward(self, x):
        for m in self.l:
            x = F.gelu(m(x))
        return x.mean()


def example_inputs():
    return torch.randn(8, 16)
