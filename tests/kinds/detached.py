"""A detached loss, a metric and a mean under no_grad, a detached prediction, and one that takes gradients."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(16, 256)
        self.down = nn.Linear(256, 16)

    def forward(self, x):
        y = self.down(torch.tanh(self.up(torch.tanh(self.up(x))[:, :16])))
        loss = (y - x).pow(2).mean()
        with torch.no_grad():
            error, mean = (y - x).abs().max(), y.mean(0)
        return {"loss": loss, "logged": loss.detach(), "error": error, "mean": mean, "y": y, "frozen": y.detach() * 2}


def example_inputs():
    return torch.randn(256, 16)
