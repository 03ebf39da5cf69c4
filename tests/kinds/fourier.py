"""Spectra: products of complex numbers that lie in several orders, conjugates, complex numbers as factors."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, steps):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.filter = nn.Parameter(torch.randn(steps // 2 + 1, dim, 2) * 0.02)

    def forward(self, x):
        x = x + torch.fft.fft2(self.norm(x)).real
        spectrum = torch.fft.rfft(x, dim=1) * torch.view_as_complex(self.filter)
        return x + torch.fft.irfft(spectrum, n=x.shape[1], dim=1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(17, 32) for _ in range(3)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        spectrum = torch.fft.fft2(x)
        power = spectrum * spectrum.conj() * (0.3 + 1j)
        return (x * power.abs()).tanh().mean()


def example_inputs():
    return torch.randn(4, 32, 17)
