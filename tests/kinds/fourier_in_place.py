"""Spectra multiplied in place, single and double: factors that lie otherwise, that are views, or are numbers."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(33)
        self.filter = nn.Parameter(torch.randn(17, 33, 2) * 0.1)
        self.fine = nn.Parameter(torch.randn(33, dtype=torch.complex128) * 0.1)

    def forward(self, x):
        z = torch.fft.rfft(self.norm(x), dim=1)
        z *= torch.view_as_complex(self.filter)
        z[:, :5] *= 2 - 0.3j
        x = torch.fft.irfft(z, n=x.shape[1], dim=1)
        z = torch.fft.fft2(x.double())
        z = z * self.fine * (0.3 + 1j)
        z.div_(self.fine + 2).mul_(0.7 + 0.1j)
        return (x * z.abs()).tanh().mean()


def example_inputs():
    return torch.randn(8, 32, 33)
