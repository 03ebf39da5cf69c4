"""Inputs in dicts in dicts and lists, an optional number, keywords only."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 32)
        self.e = nn.Embedding(10, 32)
        self.b = nn.Linear(32, 4)

    def forward(self, *, batch, options=None, scale: float = 1.0):
        h = torch.tanh(self.a(batch["image"]["pixels"])) + self.e(batch["ids"][0]) + self.e(batch["ids"][1])
        return F.cross_entropy(self.b(h) * scale, batch["label"], weight=options["weight"])


def example_inputs():
    ids = [torch.randint(0, 10, (8,)), torch.randint(0, 10, (8,))]
    batch = {"image": {"pixels": torch.randn(8, 16)}, "ids": ids, "label": torch.randint(0, 4, (8,))}
    return {"batch": batch, "options": {"weight": torch.rand(4)}, "scale": 0.5}
