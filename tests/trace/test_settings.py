"""What a generated file holds its model to besides parameters: attributes that forward reads."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch
from command import command

MODEL = '''"""A net with settings of all kinds."""

import torch
from torch import nn


class Mix(nn.Module):
    def __init__(self, heads=2):
        super().__init__()
        self.heads, self.scale, self.mode, self.note = heads, 0.5, "mean", "nothing reads this"
        self.calls, self.longest = 0, -1
        self.proj = nn.Linear(16, 16)
        self.drop = nn.Dropout(0.25)
        self.norm = nn.LayerNorm(16)

    def forward(self, x):
        self.calls += 1
        if self.longest < x.shape[1]:
            self.longest = x.shape[1]
        h = self.norm(x).unflatten(-1, (self.heads, -1))
        h = torch.softmax(h, -1).flatten(-2) * self.scale
        return x + self.drop(self.proj(h if self.mode == "mean" else -h))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Mix() for _ in range(2)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.square().mean()


def build_model():
    return Net()


def example_inputs():
    return (torch.randn(8, 4, 16),)
'''


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("settings")
    (folder / "model.py").write_text(MODEL, "utf-8")
    done = command("model.py", "--budget", "100%", "-o", "out.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    spec = importlib.util.spec_from_file_location("out", Path(folder, "out.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def set_heads(net: Any) -> None:
    net.layers[1].heads = 4


def set_scale(net: Any) -> None:
    net.layers[0].scale = 0.25


def set_mode(net: Any) -> None:
    net.layers[0].mode = "other"


def set_odds(net: Any) -> None:
    net.layers[1].drop.p = 0.5


def set_eps(net: Any) -> None:
    net.layers[1].norm.eps = 1e-3


@pytest.mark.parametrize("change", [set_heads, set_scale, set_mode, set_odds, set_eps])
def test_what_forward_reads_must_be_as_it_was(module: Any, change: Any) -> None:
    net = module.build_model()
    change(net)
    with pytest.raises(ValueError, match="eps heads inplace mode p scale,"):
        net(*module.example_inputs())
    net.eval()
    net(*module.example_inputs())  # the forward of model.py


def test_what_it_does_not_read_or_changes_itself_may_change(module: Any) -> None:
    net = module.build_model()
    for layer in net.layers:
        layer.note, layer.calls, layer.longest, layer.more = "something", 17, 3, 5
    net(*module.example_inputs()).backward()
    assert all(isinstance(p.grad, torch.Tensor) for p in net.parameters())
