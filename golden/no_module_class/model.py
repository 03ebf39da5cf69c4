"""Functions only."""

import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


def example_inputs():
    return torch.randn(4, 8)
