"""Attention with dropout inside the kernel."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(16, 48)
        self.o = nn.Linear(16, 16)

    def forward(self, x):
        q, k, v = self.q(x).view(2, 8, 3, 2, 8).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1 if self.training else 0.0, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(2, 8, 16)).pow(2).mean()


def example_inputs():
    return torch.randn(2, 8, 16)
