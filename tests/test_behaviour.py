"""What a generated file does in the hands of a trainer: the same as model.py, or an error that says why not."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import hiremate_gen

MODEL = """
import torch
from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, dim, rate):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)
        self.drop = nn.Dropout(rate)

    def forward(self, x):
        return x + self.drop(self.down(F.gelu(self.up(self.norm(x)))))


class Net(nn.Module):
    def __init__(self, dim=16, depth=3):
        super().__init__()
        self.stem = nn.Linear(8, dim)
        self.bn = nn.BatchNorm1d(dim)
        self.blocks = nn.ModuleList(Block(dim, 0.1) for _ in range(depth))
        self.head = nn.Linear(dim, 4)

    def forward(self, x, y):
        x = self.bn(self.stem(x))
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        return logits, F.cross_entropy(logits, y)


def example_inputs():
    return torch.randn(64, 8), torch.randint(0, 4, (64,))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ModuleType, ModuleType]]:
    """model.py and what is generated from it, with some ops that run again."""
    folder = tmp_path_factory.mktemp("behaviour")
    (folder / "model.py").write_text(MODEL, "utf-8")
    text = hiremate_gen.generate(str(folder / "model.py"), "60%", time_limit_s=5).text
    assert "recompute" in text
    (folder / "remat.py").write_text(text, "utf-8")
    names = ("behaviour_model", "behaviour_remat")
    yield _load(folder / "model.py", names[0]), _load(folder / "remat.py", names[1])
    for name in names:
        del sys.modules[name]


def _load(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


Use = Callable[[nn.Module, Tensor, Tensor], list[Any]]


def _gradients(model: nn.Module) -> list[Any]:
    return [p.grad for p in model.parameters()]


def adamw(m: nn.Module, x: Tensor, y: Tensor) -> list[Any]:
    optimizer = torch.optim.AdamW(m.parameters(), 1e-3)
    for _ in range(20):
        optimizer.zero_grad()
        m(x, y)[1].backward()
        torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        optimizer.step()
    return list(m.state_dict().values())


def evaluation(m: nn.Module, x: Tensor, y: Tensor) -> list[Any]:
    m.eval()
    m(x[:5], y[:5])[1].backward()
    return _gradients(m)


def no_grad(m: nn.Module, x: Tensor, y: Tensor) -> list[Any]:
    with torch.no_grad():
        return [*m(x, y), *m.buffers()]


def some_gradients(m: Any, x: Tensor, y: Tensor) -> list[Any]:
    return list(torch.autograd.grad(m(x, y)[1], [m.head.weight, m.blocks[1].up.weight]))


def backward_to_one(m: Any, x: Tensor, y: Tensor) -> list[Any]:
    m(x, y)[1].backward(inputs=[m.head.bias])
    return _gradients(m)


def two_forwards(m: nn.Module, x: Tensor, y: Tensor) -> list[Any]:
    (m(x, y)[1] + 2 * m(x, y)[1]).backward()
    return _gradients(m)


def accumulation(m: nn.Module, x: Tensor, y: Tensor) -> list[Any]:
    for _ in range(4):
        (m(x, y)[1] / 4).backward()
    return _gradients(m)


def hooks(m: nn.Module, x: Tensor, y: Tensor) -> list[Any]:
    seen: list[str] = []
    for name, p in m.named_parameters():
        p.register_hook(lambda g: g * 2)
        p.register_post_accumulate_grad_hook(lambda p, name=name: seen.append(name))
    m.register_forward_hook(lambda *_: seen.append("forward"))
    m(x, y)[1].backward()
    return [*_gradients(m), sorted(seen)]


def optimizer_in_backward(m: nn.Module, x: Tensor, y: Tensor) -> list[Any]:
    def step(p: Tensor) -> None:
        assert p.grad is not None
        p.data.sub_(p.grad, alpha=0.1)
        p.grad = None

    for p in m.parameters():
        p.register_post_accumulate_grad_hook(step)
    for _ in range(2):
        m(x, y)[1].backward()
    return list(m.parameters())


def copied(m: nn.Module, x: Tensor, y: Tensor) -> list[Any]:
    m(x, y)[1].backward()
    other = pickle.loads(pickle.dumps(copy.deepcopy(m)))
    other.zero_grad()
    other(x, y)[1].backward()
    return _gradients(other)


def functional(m: nn.Module, x: Tensor, y: Tensor) -> list[Any]:
    own = {n: p.detach().clone().requires_grad_() for n, p in m.named_parameters()}
    return list(torch.autograd.grad(torch.func.functional_call(m, own, (x, y))[1], list(own.values())))


def other_strides(m: nn.Module, x: Tensor, y: Tensor) -> list[Any]:
    m(x.t().contiguous().t(), y)[1].backward()
    return _gradients(m)


SAME: tuple[Use, ...] = (
    adamw,
    evaluation,
    no_grad,
    some_gradients,
    backward_to_one,
    two_forwards,
    accumulation,
    hooks,
    optimizer_in_backward,
    copied,
    functional,
    other_strides,
)


@pytest.mark.parametrize("use", SAME, ids=[u.__name__ for u in SAME])
def test_as_eager(use: Use, files: tuple[ModuleType, ModuleType]) -> None:
    torch.manual_seed(1)
    inputs = files[0].example_inputs()
    found = []
    for module in files:
        torch.manual_seed(0)
        model = module.Net()
        torch.manual_seed(3)
        found.append(use(model, *inputs))
    ours, theirs = found
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert torch.equal(a, b) if isinstance(a, Tensor) and isinstance(b, Tensor) else a is b or a == b


def twice(m: Any, x: Tensor, y: Tensor) -> None:
    loss = m(x, y)[1]
    loss.backward()
    loss.backward()


def retained(m: Any, x: Tensor, y: Tensor) -> None:
    loss = m(x, y)[1]
    loss.backward(retain_graph=True)
    loss.backward()


def from_logits(m: Any, x: Tensor, y: Tensor) -> None:
    m(x, y)[0].sum().backward()


def changed_input(m: Any, x: Tensor, y: Tensor) -> None:
    x = x.clone()
    loss = m(x, y)[1]
    x.add_(1)
    loss.backward()


def changed_weight(m: Any, x: Tensor, y: Tensor) -> None:
    loss = m(x, y)[1]
    with torch.no_grad():
        m.blocks[0].up.weight.add_(1)
    loss.backward()


def smaller_batch(m: Any, x: Tensor, y: Tensor) -> None:
    m(x[:32], y[:32])


def frozen(m: Any, x: Tensor, y: Tensor) -> None:
    m.stem.weight.requires_grad_(False)
    m(x, y)


def autocast(m: Any, x: Tensor, y: Tensor) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        m(x, y)


RAISES: tuple[tuple[Callable[[Any, Tensor, Tensor], None], str], ...] = (
    (twice, "second time"),
    (retained, "retain_graph=True needs eager_forward, the forward of model.py"),
    (from_logits, "return the sum of several losses as one"),
    (changed_input, "x was changed in place between forward and backward"),
    (changed_weight, "modified by an inplace operation"),
    (smaller_batch, "regenerate it with these inputs"),
    (frozen, "regenerate it for this configuration"),
    (autocast, "without autocast"),
)


@pytest.mark.parametrize(("use", "words"), RAISES, ids=[u.__name__ for u, _ in RAISES])
def test_says_why_not(
    use: Callable[[Any, Tensor, Tensor], None], words: str, files: tuple[ModuleType, ModuleType]
) -> None:
    torch.manual_seed(0)
    with pytest.raises((RuntimeError, ValueError), match=words):
        use(files[1].Net(), *files[1].example_inputs())
