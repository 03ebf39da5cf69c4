"""Fourier neural operator in two dimensions: complex weights on the low modes, a pointwise path beside them."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Spectral(nn.Module):
    def __init__(self, width: int, modes: int) -> None:
        super().__init__()
        self.modes = modes
        shape = (width, width, modes, modes, 2)
        self.low = nn.Parameter(torch.rand(shape) / width**2)
        self.high = nn.Parameter(torch.rand(shape) / width**2)

    def forward(self, x: Tensor) -> Tensor:
        m = self.modes
        spectrum = torch.fft.rfft2(x)
        out = torch.zeros_like(spectrum)
        out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :m, :m], torch.view_as_complex(self.low))
        out[:, :, -m:, :m] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, -m:, :m], torch.view_as_complex(self.high))
        return torch.fft.irfft2(out, s=x.shape[-2:])


class FNO(nn.Module):
    def __init__(self, layers: int = 4, width: int = 32, modes: int = 12) -> None:
        super().__init__()
        self.lift = nn.Conv2d(3, width, 1)
        self.spectral = nn.ModuleList(Spectral(width, modes) for _ in range(layers))
        self.pointwise = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(layers))
        self.project = nn.Sequential(nn.Conv2d(width, 128, 1), nn.GELU(), nn.Conv2d(128, 1, 1))

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        x = self.lift(x)
        for spectral, pointwise in zip(self.spectral, self.pointwise, strict=True):
            x = F.gelu(spectral(x) + pointwise(x))
        return F.mse_loss(self.project(x), target)


def build_model() -> FNO:
    return FNO()


def example_inputs() -> tuple[Tensor, Tensor]:
    return torch.randn(16, 3, 128, 128), torch.randn(16, 1, 128, 128)
