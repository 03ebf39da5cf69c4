"""Logits that a last block of its own reads, and that the model returns as a view; powers with tensors in them."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(32, 128)
        self.b = nn.Linear(128, 32)

    def forward(self, x):
        return x + self.b(F.gelu(self.a(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(50, 32)
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.o = nn.Linear(32, 50)

    def forward(self, ids, labels):
        rate = 10000 ** (torch.arange(0, 32).float() / 32)
        x = self.e(ids) + torch.pow(rate.reciprocal(), torch.arange(ids.shape[1]).float()[:, None])
        for block in self.blocks:
            x = block(x)
        logits = self.o(x)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=0, label_smoothing=0.1)
        return {"loss": loss, "logits": logits}


def example_inputs():
    return torch.randint(0, 50, (8, 10)), torch.randint(0, 50, (8, 10))
