"""Parameters of forward that are called as generated names are; callers pass them by keyword."""

import torch as pytorch
import torch.nn as nn
from torch import nn as torch_nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = torch_nn.Linear(8, 8)
        self.g = nn.Linear(8, 8)

    def forward(self, torch, *, aten, remat_step, check_step=1.0):
        return (pytorch.tanh(self.g(pytorch.tanh(self.f(torch)))) * aten - remat_step * check_step).pow(2).mean()


def example_inputs():
    return {"torch": pytorch.randn(16, 8), "aten": pytorch.randn(16, 8), "remat_step": pytorch.randn(16, 8)}
