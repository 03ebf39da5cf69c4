"""Complex numbers, FFT, and a slice that is assigned."""

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4, 6, dtype=torch.cfloat) * 0.1)
        self.l = nn.Linear(4, 4)

    def forward(self, x):
        x = self.l(x.transpose(1, 2)).transpose(1, 2)
        f = torch.fft.rfft(x)
        out = torch.zeros_like(f)
        out[:, :, :6] = torch.einsum("bix,iox->box", f[:, :, :6], self.w)
        return torch.fft.irfft(out, n=x.size(-1)).relu().mean()


def example_inputs():
    return torch.randn(4, 4, 32)
