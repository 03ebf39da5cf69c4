"""Gradients of dropout, layer norm and a loss arrive in another order of memory than the values."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = nn.Linear(8, 16)
        self.n = nn.LayerNorm(8)
        self.c = nn.Conv2d(16, 8, 1)
        self.o = nn.Linear(8, 4)

    def forward(self, x, y):
        h = F.dropout(self.a(x), 0.1)  # [n, 1, 1, 4, 4, 8], one window
        h = F.dropout(self.b(self.n(h)), 0.2).permute(0, 5, 3, 1, 4, 2).reshape(x.shape[0], 16, 4, 4)
        h = F.relu(self.c(h)).flatten(2).mT
        return F.nll_loss(F.log_softmax(self.o(h), -1).mT, y) + F.mse_loss(h.mT, x[:, 0, 0].flatten(1, 2).mT)


def example_inputs():
    return torch.randn(2, 1, 1, 4, 4, 8), torch.randint(0, 4, (2, 16))
