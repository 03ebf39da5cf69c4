import torch
from torch import nn


class Base(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        return self.fc(x).mean()


class Net(Base):
    def __init__(self):
        super().__init__(8)


def example_inputs():
    return torch.randn(4, 8)
