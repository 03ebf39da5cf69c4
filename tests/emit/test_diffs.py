"""Small changes of a model are small changes of its generated file, and a deep model's file stays short."""

from __future__ import annotations

import ast
import difflib
import re
from functools import partial
from pathlib import Path

import black
import pytest
from command import ROOT

import hiremate_gen
from hiremate_gen import pipeline
from hiremate_gen.ir import Chain, Graph, Plan, Segment

MODE = black.Mode(line_length=88, target_versions={black.TargetVersion.PY311})
CHEAP = ("gelu", "layer_norm", "native_layer_norm", "relu", "tanh")
MODEL = '''"""A net."""

import torch
import torch.nn.functional as F
from torch import nn


class Alone(nn.Module):
    """Not used."""


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        a, b = self.up(self.norm(x)).chunk(2, dim=-1)
        h = F.gelu(a)
        h = torch.cat([h, b * torch.tanh(b)], dim=-1)
        return x + self.drop(self.down(h))


class Other(nn.Module):
    """Not used, either."""


class Net(nn.Module):
    def __init__(self, dim=16, depth=6):
        super().__init__()
        self.stem = nn.Linear(8, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, 4)

    def forward(self, x, target):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(x), target)


def build_model():
    return Net()


def example_inputs():
    return torch.randn(64, 8), torch.randint(0, 4, (64,))
'''


def cheap_again(graph: Graph, chain: Chain, budget_bytes: int, first: int = 4, **_: object) -> Plan:
    """Cheap ops run again at the start of their block's backward, in the first few blocks."""
    segments = [Segment("forward", n, block.forward) for n, block in enumerate(chain.blocks)]
    for n, block in reversed(list(enumerate(chain.blocks))):
        again = [o for o in block.forward if n < first and any(f".{name}." in graph.op[o].target for name in CHEAP)]
        segments.append(Segment("backward", n, (*again, *block.backward)))
    return Plan(tuple(segments), "cheap again", "")


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "solve", cheap_again)


def generated(tmp_path: Path, text: str, budget: str = "100%", **more: object) -> str:
    (tmp_path / "model.py").write_text(text, "utf-8")
    return hiremate_gen.generate(str(tmp_path / "model.py"), budget, verify=False, **more).text  # type: ignore[arg-type]


def changed(one: str, two: str) -> list[str]:
    """Lines that went or came, those of model.py left out."""
    rows = list(difflib.unified_diff(one.splitlines(), two.splitlines(), lineterm="", n=0))[2:]
    return [row for row in rows if row[0] in "+-"]


def test_another_layer(tmp_path: Path, planned: None) -> None:
    """Costs, what is said of instances, and their number; no line of a function of the blocks."""
    deep = MODEL.replace("depth=6", "depth=9")
    rows = changed(generated(tmp_path, deep), generated(tmp_path, deep.replace("depth=9", "depth=10")))
    code = [r for r in rows if not r[1:].lstrip().startswith(("#", '"""'))]
    assert len(rows) <= 32, rows
    assert len(code) <= 8, code  # the model's own line, the row of the table, the digest and the count of elements


def test_a_renamed_variable(tmp_path: Path, planned: None) -> None:
    """The name, wherever it stands, and nothing else but how lines are wrapped."""
    renamed = MODEL.replace("a, b = self", "left, b = self").replace("F.gelu(a)", "F.gelu(left)")
    before, after = generated(tmp_path, MODEL), generated(tmp_path, renamed)
    back = re.sub(r"\bleft\b", "a", after).replace("grad_left", "grad_a")
    rows = [r for r in changed(_wrapped(before), _wrapped(back)) if "sha256" not in r]
    assert rows == []
    assert len(changed(before, after)) <= 64


def _wrapped(text: str) -> str:
    """With all white space and trailing commas gone that depend on the length of lines."""
    lines = re.sub(r"(?<=[(\[{,])\n\s+|,?\n\s*(?=[)\]}])", "", text)
    return re.sub(r"[ \n]+(?=#)", " ", lines).replace(", ", ",")


def test_another_batch_size(tmp_path: Path, planned: None) -> None:
    """Shapes in comments, reshapes and the contract; no line comes or goes but by being wrapped."""
    rows = changed(generated(tmp_path, MODEL), generated(tmp_path, MODEL.replace("64", "48")))
    code = [r for r in rows if "  # " not in r and not r[1:].lstrip().startswith(("#", '"""'))]
    assert sum(r.startswith("+") for r in rows) == sum(r.startswith("-") for r in rows)
    assert len(code) <= 30, code


def test_classes_in_another_order(tmp_path: Path, planned: None) -> None:
    """Nothing but the classes themselves and the hash of the source."""
    alone = 'class Alone(nn.Module):\n    """Not used."""\n\n\n'
    moved = MODEL.replace(alone, "").replace("class Other", alone + "class Other")
    rows = changed(generated(tmp_path, MODEL), generated(tmp_path, moved))
    said = ("class Alone", "class Other", "Not used", "sha256", "# seal")
    assert all(r[1:] == "" or any(words in r for words in said) for r in rows), rows
    assert len(rows) <= 12


def test_one_percent_more_budget(tmp_path: Path) -> None:
    """The solver chooses anew; for the same choice nothing but the header differs."""
    peak = int(generated(tmp_path, MODEL).split(" bytes; model.py")[0].rsplit("(", 1)[1])
    one, two = (generated(tmp_path, MODEL, str(peak * 2 * k // 100)) for k in (100, 101))
    rows = changed(one, two)
    assert rows and all(r[1:].startswith("# ") for r in rows) and len(rows) <= 6
    tight, tighter = (generated(tmp_path, MODEL, str(peak * k // 1000)) for k in (900, 891))
    assert len(changed(tight, tighter)) <= len(tight.splitlines()) // 2


def limits(text: str, source: str) -> int:
    """Lines beyond what is carried over; checks the others on the way."""
    assert black.format_str(text, mode=MODE) == text
    own = set(source.splitlines())
    assert max(len(line) for line in text.splitlines() if line not in own) <= 100
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    assert max((n.end_lineno or 0) - n.lineno + 1 for n in functions) <= 120
    return len(text.splitlines()) - len(source.splitlines())


@pytest.mark.parametrize(("attention", "plans"), [("alternate", 1), ("manual", 1), ("flash", 1), ("flash", 2)])
def test_a_deep_gpt_is_short(attention: str, plans: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`plans` for each kind of block: "alternate" has two kinds."""
    monkeypatch.setattr(pipeline, "solve", partial(cheap_again, first=49 if plans == 1 else 4))
    source = (ROOT / "golden" / "gpt" / "model.py").read_text("utf-8")
    sizes = f"n_layer=48, n_embd=32, n_head=2, block_size=32, vocab_size=64, attention='{attention}'"
    source = source.replace("GPTConfig())", f"GPTConfig({sizes}))").replace("(0, 512, (16, 129))", "(0, 64, (2, 33))")
    source = black.format_str(source, mode=MODE)
    text = generated(tmp_path, source)
    assert limits(text, source) < 900
    assert "Runs again: " in text and "range(" in text


@pytest.mark.parametrize("case", sorted(p.parent.name + p.stem[8:] for p in (ROOT / "golden").glob("*/expected*.py")))
def test_limits_of_golden_files(case: str) -> None:
    name, _, suffix = case.partition("_")
    folder = ROOT / "golden" / name
    expected = folder / f"expected{'_' + suffix if suffix else ''}.py"
    limits(expected.read_text("utf-8"), (folder / "model.py").read_text("utf-8"))
