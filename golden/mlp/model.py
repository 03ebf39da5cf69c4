"""A residual MLP classifier that returns its loss."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Block(nn.Module):
    """Pre-norm residual MLP with dropout."""

    def __init__(self, dim: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, hidden)
        self.proj = nn.Linear(hidden, dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(x)
        h = F.gelu(self.fc(h))
        return x + self.drop(self.proj(h))


class Net(nn.Module):
    """A stem, `depth` residual blocks and a linear head."""

    def __init__(
        self, features: int = 64, dim: int = 256, depth: int = 4, classes: int = 10
    ) -> None:
        super().__init__()
        self.stem = nn.Linear(features, dim)
        self.blocks = nn.ModuleList([Block(dim, 4 * dim, 0.1) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        x = torch.tanh(self.stem(x))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits, target)

    @torch.no_grad()
    def accuracy(self, x: Tensor, target: Tensor) -> float:
        """Share of the rows of `x` whose largest logit is the target."""
        x = torch.tanh(self.stem(x))
        for block in self.blocks:
            x = block(x)
        hits = self.head(self.norm(x)).argmax(dim=-1) == target
        return float(hits.float().mean())


def example_inputs() -> tuple[Tensor, Tensor]:
    return torch.randn(4096, 64), torch.randint(0, 10, (4096,))


if __name__ == "__main__":
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    x, target = example_inputs()
    for step in range(10):
        optimizer.zero_grad()
        loss = net(x, target)
        loss.backward()
        optimizer.step()
        print(step, loss.item(), net.accuracy(x, target))
