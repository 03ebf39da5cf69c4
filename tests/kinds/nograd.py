"""A part without gradients, and a detached one."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 16)
        self.b = nn.Linear(16, 16)

    def forward(self, x):
        with torch.no_grad():
            t = torch.tanh(self.a(x))
        y = self.b(x)
        return F.mse_loss(torch.tanh(self.a(y)), t) + y.detach().mean()


def example_inputs():
    return torch.randn(8, 16)
