import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width, depth=2, *, classes):
        super().__init__()
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        return self.fc(x).mean()


def example_inputs():
    return torch.randn(4, 8)
