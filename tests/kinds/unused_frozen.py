"""Parameters that are frozen, and one that nothing uses."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(20, 16)
        self.e.weight.requires_grad_(False)
        self.a = nn.Linear(16, 16)
        self.u = nn.Linear(3, 3)
        self.b = nn.Linear(16, 4)
        self.b.bias.requires_grad_(False)

    def forward(self, i):
        return self.b(F.silu(self.a(self.e(i)))).square().mean()


def example_inputs():
    return torch.randint(0, 20, (8, 12))
