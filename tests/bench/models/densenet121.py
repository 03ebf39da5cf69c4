"""DenseNet-121: every layer reads all before it in its dense block."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Layer(nn.Module):
    def __init__(self, inside: int, growth: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inside)
        self.conv1 = nn.Conv2d(inside, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, features: list[Tensor]) -> Tensor:
        x = self.conv1(F.relu(self.norm1(torch.cat(features, 1)), inplace=True))
        return self.conv2(F.relu(self.norm2(x), inplace=True))


class Dense(nn.Module):
    def __init__(self, layers: int, inside: int, growth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(inside + k * growth, growth) for k in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        features = [x]
        for layer in self.layers:
            features.append(layer(features))
        return torch.cat(features, 1)


class DenseNet(nn.Module):
    def __init__(self, layers: tuple[int, ...] = (6, 12, 24, 16), growth: int = 32, classes: int = 1000) -> None:
        super().__init__()
        width = 2 * growth
        stem = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        self.stem = nn.Sequential(*stem, nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.ModuleList()
        for k, count in enumerate(layers):
            self.blocks.append(Dense(count, width, growth))
            width += count * growth
            if k < len(layers) - 1:
                half = [nn.BatchNorm2d(width), nn.ReLU(inplace=True), nn.Conv2d(width, width // 2, 1, bias=False)]
                self.blocks.append(nn.Sequential(*half, nn.AvgPool2d(2)))
                width //= 2
        self.norm = nn.BatchNorm2d(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = F.relu(self.norm(x), inplace=True).mean((2, 3))
        return F.cross_entropy(self.head(x), target)


def build_model() -> DenseNet:
    return DenseNet()


def example_inputs() -> tuple[Tensor, Tensor]:
    return torch.randn(32, 3, 224, 224), torch.randint(0, 1000, (32,))
