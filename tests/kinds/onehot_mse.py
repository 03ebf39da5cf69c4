"""one_hot, and a reduced loss that keeps the storage of all its terms."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 10)

    def forward(self, x, t):
        return F.mse_loss(self.a(x).softmax(-1), F.one_hot(t, 10).float())


def example_inputs():
    return (torch.randn(8, 8), torch.randint(0, 10, (8,)))
