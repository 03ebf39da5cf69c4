"""A script: it trains as soon as it is imported, and would never end."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=16)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self, width=args.width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        return self.fc(x).pow(2).mean()


loader = DataLoader(TensorDataset(torch.randn(64, args.width)), batch_size=8)
model = Net().cuda()
optimizer = torch.optim.Adam(model.parameters())
while True:
    for (batch,) in loader:
        optimizer.zero_grad()
        model(batch.cuda()).backward()
        optimizer.step()


def example_inputs():
    return batch
