import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width=30, heads=4):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads)

    def forward(self, x):
        return self.attention(x, x, x)[0].mean()


def example_inputs():
    return torch.randn(4, 8, 30)
