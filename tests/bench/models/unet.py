"""U-Net with four levels and skips by concatenation: no chain to cut it into."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Double(nn.Sequential):
    def __init__(self, inside: int, outside: int) -> None:
        layers: list[nn.Module] = []
        for channels in (inside, outside):
            layers += [nn.Conv2d(channels, outside, 3, padding=1, bias=False), nn.BatchNorm2d(outside)]
            layers += [nn.ReLU(inplace=True)]
        super().__init__(*layers)


class UNet(nn.Module):
    def __init__(self, width: int = 64, levels: int = 4, classes: int = 4) -> None:
        super().__init__()
        self.inc = Double(3, width)
        self.down = nn.ModuleList(Double(width << k, width << k + 1) for k in range(levels))
        self.up = nn.ModuleList(nn.ConvTranspose2d(width << k + 1, width << k, 2, 2) for k in reversed(range(levels)))
        self.merge = nn.ModuleList(Double(width << k + 1, width << k) for k in reversed(range(levels)))
        self.out = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        skips = [self.inc(x)]
        for down in self.down:
            skips.append(down(F.max_pool2d(skips[-1], 2)))
        h = skips.pop()
        for up, merge in zip(self.up, self.merge, strict=True):
            h = merge(torch.cat([skips.pop(), up(h)], dim=1))
        return F.cross_entropy(self.out(h), target)


def build_model() -> UNet:
    return UNet()


def example_inputs() -> tuple[Tensor, Tensor]:
    return torch.randn(4, 3, 256, 256), torch.randint(0, 4, (4, 256, 256))
