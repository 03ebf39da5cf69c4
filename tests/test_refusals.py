"""Models that cannot be planned: the op that reads a value, and the user's line, in the user's words for the file."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
from click.testing import CliRunner

from hiremate_gen.cli import main

HEAD = """import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def forward(self, x):
"""
INPUTS = """
def example_inputs():
    return torch.randn(8, 4)
"""
CASES = {
    "number": ("n = int(x.sum())\nreturn self.fc(x)[:n].sum()", "model.py:8:13", "aten.item: `n = int(x.sum())`"),
    "branch": ("if x.max() > 1:\n    x = -x\nreturn self.fc(x).sum()", "model.py:8:12", "aten.item: `if x.max() > 1:`"),
    "mask": ("y = self.fc(x)\nreturn y[y > 0].sum()", "model.py:9", "aten.index: `return y[y > 0].sum()`"),
    "rows": ("rows = x[:, 0].nonzero()\nreturn self.fc(x)[rows[:, 0]].sum()", "model.py:8", "aten.nonzero: `rows = "),
}


@pytest.mark.parametrize("name", CASES)
def test_values_decide(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body, where, words = CASES[name]
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "model.py").write_text(HEAD + indent(body, " " * 8) + INPUTS, "utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["code/model.py", "--budget", "1GiB", "-o", "-"])
    said = result.stderr.splitlines()
    assert result.exit_code == 3, result.output
    assert said[0].startswith(f"error: code/{where}: ") and words in said[0], said
    assert len(said) == 2 and str(tmp_path) not in result.stderr
    assert result.stdout == ""


OTHERS = {
    "sparse": (
        "self.fc = nn.Embedding(9, 4, sparse=True)",
        "return self.fc(x.long()).sum()",
        "makes a sparse tensor: only dense ones",
    ),
    "max_norm": (
        "self.fc = nn.Embedding(9, 4, max_norm=1.0)",
        "return self.fc(x.long()).sum()",
        "in place: only buffers may change",
    ),
    "detached": ("pass", "return self.fc(x).detach()", "nothing that forward returns needs a gradient"),
    "no_tensor": ("pass", "return 3.0", "nothing that forward returns needs a gradient"),
    "integers": ("pass", "return self.fc(x).argmax(1)", "nothing that forward returns needs a gradient"),
    "mask": (
        "self.t = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1)",
        "return self.t(x[None], mask=torch.ones(8, 8).triu(1).bool()).sum()",
        "say is_causal=True or False",
    ),
}


CHECKED = {
    "cell": (
        "self.fc = nn.GRUCell(4, 4)",
        "h = x\nfor _ in range(6):\n    h = self.fc(x, h)\nreturn h.square().mean()",
        "recurrent layers cannot be planned bit for bit (fc is a GRUCell)\n  plan the part",
    ),
    "autocast": (
        "pass",
        "with torch.autocast('cpu'):\n    x = self.fc(torch.relu(self.fc(x)))\nreturn x.float().square().sum()",
        "model.py:9: weights that are used several times under autocast cannot be planned bit for bit\n  use each",
    ),
    "state": (
        "self.seen = []",
        "h = self.fc(x)\nself.seen.append(h.detach())\nreturn (h + sum(self.seen)).square().mean()",
        "forward changes `seen`, and later steps depend on it: step 2: output differs",
    ),
    "gradient": (
        "pass",
        "x = x.requires_grad_()\nreturn torch.autograd.grad(self.fc(x).tanh().sum(), x, create_graph=True)[0].sum()",
        "model.py:10:16: forward takes gradients itself, with torch.autograd.grad",
    ),
    "generator": (
        "self.dice = torch.Generator()",
        "return (self.fc(x) + torch.randn(8, 4, generator=self.dice)).sum()",
        "forward draws from a torch.Generator of its own\n  leave out generator=",
    ),
}


@pytest.mark.parametrize("name", CHECKED)
def test_what_is_not_as_in_eager_is_said_in_words(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, body, words = CHECKED[name]
    head = HEAD.replace("    def forward", f"        {made}\n    def forward")
    (tmp_path / "model.py").write_text(head + indent(body, " " * 8) + INPUTS, "utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["model.py", "--budget", "1GiB", "-o", "out.py"])
    assert result.exit_code == 3 and words in result.stderr, result.stderr
    assert "object at 0x" not in result.stderr and not (tmp_path / "out.py").exists()


@pytest.mark.parametrize("name", OTHERS)
def test_said_in_words(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, body, words = OTHERS[name]
    head = HEAD.replace("    def forward", f"        {made}\n    def forward")
    (tmp_path / "model.py").write_text(head + indent(body, " " * 8) + INPUTS, "utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["model.py", "--budget", "1GiB", "-o", "-"])
    assert result.exit_code == 3, result.output
    assert words in result.stderr
    assert result.stdout == ""


def test_dice_that_torch_does_not_throw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "return (self.fc(x) * random.random()).tanh().sum()"
    (tmp_path / "model.py").write_text("import random\n" + HEAD + indent(body, " " * 8) + INPUTS, "utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["model.py", "--budget", "1GiB", "-o", "out.py"])
    assert result.exit_code == 3 and "model.py itself does not compute the same twice: step 1: " in result.stderr
    assert "\n  draw random numbers from torch alone" in result.stderr and not (tmp_path / "out.py").exists()
