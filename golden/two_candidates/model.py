"""A generator and a discriminator, which do not use each other."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        return torch.relu(self.fc(x))


def stack(depth):
    return nn.Sequential(*[Layer() for _ in range(depth)])


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = stack(2)

    def forward(self, z):
        return self.layers(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = stack(3)

    def forward(self, x):
        return self.layers(x).mean()


def example_inputs():
    return torch.randn(4, 8)
