import torch
from torch import nn

from flash_attention_that_is_not_installed import flash_attention


class Net(nn.Module):
    def forward(self, q, k, v):
        return flash_attention(q, k, v).mean()


def example_inputs():
    return tuple(torch.randn(2, 4, 8) for _ in range(3))
