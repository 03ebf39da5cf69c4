"""Three passes through one stack with batch norm, whose statistics are updated three times."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout2d(0.2))
        self.f = nn.Linear(4 * 6 * 6, 8)

    def once(self, x):
        return F.normalize(self.f(self.c(x).flatten(1)), dim=-1)

    def forward(self, anchor, same, other):
        return F.triplet_margin_loss(self.once(anchor), self.once(same), self.once(other))


def example_inputs():
    return tuple(torch.randn(6, 1, 8, 8) for _ in range(3))
