"""Tied weights have memory once."""

from __future__ import annotations

from pathlib import Path

from command import command

MODEL = """
import torch
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 8)
        self.head = nn.Linear(8, 100, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x):
        return self.head(self.embed(x)).pow(2).mean()


def example_inputs():
    return torch.zeros(4, 8, dtype=torch.long)
"""


def test_tied_weights_count_once(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    shown = command("model.py", "--dump", "graph", cwd=tmp_path)
    rows = [line.split() for line in shown.stdout.splitlines() if line.startswith("parameter")]
    assert sorted(row[-3] for row in rows) == ["0", "3200"], shown.stderr


def test_a_converted_model_is_planned_without_its_memory(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL + "\n\ndef build_model():\n    return Tied().double()\n")
    done = command("model.py", "--budget", "100%", "-o", "out.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "real memory" not in done.stderr
    shown = command("model.py", "--dump", "graph", cwd=tmp_path)
    rows = [line.split() for line in shown.stdout.splitlines() if line.startswith("parameter")]
    assert sorted(row[-3] for row in rows) == ["0", "6400"]
