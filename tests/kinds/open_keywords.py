"""forward(x, **kwargs)."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 16)
        self.b = nn.Linear(16, 4)

    def forward(self, x, **kwargs):
        h = torch.tanh(self.a(x))
        return F.cross_entropy(self.b(h) * kwargs.get("scale", 2.0), kwargs["target"])


def example_inputs():
    return {"x": torch.randn(8, 16), "target": torch.randint(0, 4, (8,))}
