"""topk decides where things go: it is never run again."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.g = nn.Linear(16, 4)
        self.e = nn.Parameter(torch.randn(4, 16, 16) * 0.1)

    def forward(self, x):
        p = self.g(x).softmax(-1)
        v, i = p.topk(2, -1)
        y = torch.einsum("bd,edf->bef", x, self.e)
        y = y.gather(1, i.unsqueeze(-1).expand(-1, -1, 16))
        return (F.gelu(y) * v.unsqueeze(-1)).sum(1).pow(2).mean()


def example_inputs():
    return torch.randn(32, 16)
