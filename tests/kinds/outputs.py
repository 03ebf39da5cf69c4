"""A dict with tensors, numbers, None, integers, a view, and a keyword-only argument."""

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 16)
        self.b = nn.Linear(16, 16)

    def forward(self, x, *, mask, scale=2.0, flag=None):
        h = torch.tanh(self.a(x)) * mask
        y = self.b(h)
        return {
            "loss": (y * scale).pow(2).mean(),
            "h": h,
            "n": 3,
            "none": None,
            "top": y.argmax(-1),
            "list": [y, h.view(-1)],
        }


def example_inputs():
    return {"x": torch.randn(8, 16), "mask": torch.ones(8, 16)}
