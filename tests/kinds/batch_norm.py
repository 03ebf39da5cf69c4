"""Batch norm with and without running statistics: they are written once a step."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.bn = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3)
        self.bn2 = nn.BatchNorm2d(8, track_running_stats=False)
        self.bn3 = nn.BatchNorm2d(8, momentum=0.3)

    def forward(self, x):
        x = F.relu(self.bn2(self.conv2(F.relu(self.bn(self.conv(x))))), inplace=True)
        return self.bn3(x).pow(2).mean()


def example_inputs():
    return torch.randn(4, 3, 12, 12)
