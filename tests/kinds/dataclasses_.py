"""Dataclasses in and out, one field of the result None."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Batch:
    x: torch.Tensor
    y: torch.Tensor


@dataclass
class Output:
    logits: torch.Tensor
    loss: torch.Tensor
    hidden: torch.Tensor | None = None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 32)
        self.b = nn.Linear(32, 4)

    def forward(self, batch: Batch) -> Output:
        logits = self.b(torch.tanh(self.a(batch.x)))
        return Output(logits, loss=F.cross_entropy(logits, batch.y))


def example_inputs():
    return (Batch(torch.randn(8, 16), torch.randint(0, 4, (8,))),)
