"""Children and parameters whose names are keywords, numbers in no list, or no identifiers."""

from collections import OrderedDict

import torch
import torch.nn as nn


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(2):
            self.add_module(str(i), nn.Linear(16, 16))

    def forward(self, x):
        for child in self.children():
            x = torch.tanh(child(x))
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = nn.ModuleDict({k: nn.Linear(16, 16) for k in ("a-b", "1", "class", "x y", "ü")})
        self.s = Stack()
        self.q = nn.Sequential(OrderedDict([("1", nn.Linear(16, 16)), ("0", nn.Linear(16, 16))]))
        self.p = nn.ParameterDict({"lambda": torch.randn(16), "k-1": torch.randn(16)})
        self.n = nn.ParameterList([torch.randn(16)])

    def forward(self, x):
        for child in self.d.values():
            x = torch.relu(child(x))
        x = self.q(self.s(x))
        for key in self.p:
            x = x + self.p[key].sin()
        return (x * self.n[0]).square().mean()


def example_inputs():
    return torch.randn(8, 16)
