"""A model that is converted after it was built: parameters and running statistics in bfloat16, channels last."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 16, 3, padding=1)
        self.b = nn.BatchNorm2d(16)
        self.c = nn.Conv2d(16, 16, 3, padding=1)
        self.d = nn.Linear(16, 16)
        self.e = nn.Linear(16, 16)
        self.e.weight = self.d.weight

    def forward(self, x):
        x = torch.relu(self.b(self.a(x)))
        x = x + torch.relu(self.c(x))
        return self.e(torch.tanh(self.d(x.mean((2, 3))))).pow(2).mean()


def build_model():
    return Net().to(torch.bfloat16).to(memory_format=torch.channels_last)


def example_inputs():
    return torch.randn(4, 3, 32, 32, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
