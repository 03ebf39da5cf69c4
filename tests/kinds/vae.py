"""Noise drawn in forward, and a sum of losses."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Linear(16, 8)
        self.d = nn.Linear(4, 16)

    def forward(self, x):
        mu, lv = self.e(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * lv)
        r = torch.sigmoid(self.d(z))
        return F.binary_cross_entropy(r, x.sigmoid(), reduction="sum") - 0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())


def example_inputs():
    return torch.randn(8, 16)
