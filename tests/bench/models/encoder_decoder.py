"""A Transformer with six layers of encoder and six of decoder, each of which reads what the encoder gives."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k = nn.Linear(width, width), nn.Linear(width, width)
        self.v, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor, memory: Tensor, causal: bool = False) -> Tensor:
        q, k, v = (
            part.view(*part.shape[:2], self.heads, -1).transpose(1, 2)
            for part in (self.q(x), self.k(memory), self.v(memory))
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return self.out(y.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    def __init__(self, width: int, heads: int, cross: bool) -> None:
        super().__init__()
        self.norm1, self.own = nn.LayerNorm(width), Attention(width, heads)
        self.norm2, self.cross = (nn.LayerNorm(width), Attention(width, heads)) if cross else (None, None)
        self.norm3, self.fc, self.proj = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        h = self.norm1(x)
        x = x + self.own(h, h, causal=memory is not None)
        if memory is not None and self.norm2 is not None and self.cross is not None:
            x = x + self.cross(self.norm2(x), memory)
        return x + self.proj(F.relu(self.fc(self.norm3(x))))


class Transformer(nn.Module):
    def __init__(self, layers: int = 6, width: int = 512, vocab: int = 32000, length: int = 512) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(vocab, width), nn.Embedding(vocab, width)
        self.positions = nn.Parameter(0.02 * torch.randn(length, width))
        self.encoder = nn.ModuleList(Layer(width, 8, cross=False) for _ in range(layers))
        self.decoder = nn.ModuleList(Layer(width, 8, cross=True) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab)

    def forward(self, source: Tensor, target: Tensor, labels: Tensor) -> Tensor:
        memory = self.source(source) + self.positions
        for layer in self.encoder:
            memory = layer(memory)
        x = self.target(target) + self.positions
        for layer in self.decoder:
            x = layer(x, memory)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), labels.view(-1))


def build_model() -> Transformer:
    return Transformer()


def example_inputs() -> tuple[Tensor, Tensor, Tensor]:
    source, target, labels = torch.randint(0, 32000, (3, 16, 512))
    return source, target, labels
