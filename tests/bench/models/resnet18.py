"""ResNet-18 for 224 by 224 images, with its loss."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class BasicBlock(nn.Module):
    def __init__(self, inside: int, planes: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: nn.Module | None = None
        if stride != 1 or inside != planes:
            self.downsample = nn.Sequential(nn.Conv2d(inside, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, width: int = 64, classes: int = 1000) -> None:
        super().__init__()
        stem = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        self.stem = nn.Sequential(*stem, nn.MaxPool2d(3, 2, 1))
        planes = [width, width, 2 * width, 2 * width, 4 * width, 4 * width, 8 * width, 8 * width]
        before = [width, *planes[:-1]]
        self.blocks = nn.ModuleList(BasicBlock(a, b, 1 if a == b else 2) for a, b in zip(before, planes, strict=True))
        self.head = nn.Linear(8 * width, classes)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(x.mean((2, 3))), target)


def build_model() -> ResNet:
    return ResNet()


def example_inputs() -> tuple[Tensor, Tensor]:
    return torch.randn(32, 3, 224, 224), torch.randint(0, 1000, (32,))
