"""Attributes and arguments named like builtins, keywords and the names of generated code."""

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lambda_ = nn.Linear(8, 8)
        self.input = nn.Linear(8, 8)
        self.grad = nn.Linear(8, 8)
        self.naïve = nn.Linear(8, 8)
        self.register_parameter("torch", nn.Parameter(torch.ones(8)))

    def forward(self, input, ctx=None):
        print_ = self.lambda_(input)
        F_ = torch.tanh(self.input(print_))
        live = self.grad(F_) * self.torch
        aten_ = self.naïve(live)
        return aten_.pow(2).mean()


def example_inputs():
    return torch.randn(8, 8)
