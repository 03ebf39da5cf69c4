"""The loss and the terms that it is made of, the loss last."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 64)
        self.c = nn.Linear(64, 4)
        self.r = nn.Linear(64, 1)

    def forward(self, x, y, z):
        h = F.mish(self.a(x))
        kind = F.cross_entropy(self.c(h), y, label_smoothing=0.1)
        size = F.binary_cross_entropy_with_logits(self.r(h)[:, 0], z)
        return {"kind": kind, "size": size, "loss": kind + 0.5 * size}


def example_inputs():
    return torch.randn(8, 16), torch.randint(0, 4, (8,)), torch.rand(8)
