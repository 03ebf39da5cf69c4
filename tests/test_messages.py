"""What people are told: by a generated file that is used as it was not planned, by scripts, by torch's tracer."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result
from command import ROOT, command

from hiremate_gen.cli import main

MODEL = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        h = torch.tanh(self.fc(x))
        return {"loss": h.square().mean(), "it's": self.head(h)}


def example_inputs():
    return torch.randn(64, 8)
"""


def cli(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), prog_name="hiremate-gen")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("messages")
    source, output = folder / "model.py", folder / "remat.py"
    source.write_text(MODEL, "utf-8")
    result = cli(str(source), "--budget", "100%", "-o", str(output), "--no-verify")
    assert result.exit_code == 0, result.output
    spec = importlib.util.spec_from_file_location("messages_remat", output)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def twice(outputs: dict[str, torch.Tensor], model: torch.nn.Module) -> None:
    (grad,) = torch.autograd.grad(outputs["loss"], [model.fc.weight], create_graph=True)
    grad.sum().backward()


def retained(outputs: dict[str, torch.Tensor], model: torch.nn.Module) -> None:
    outputs["loss"].backward(retain_graph=True)
    outputs["loss"].backward()


def again(outputs: dict[str, torch.Tensor], model: torch.nn.Module) -> None:
    outputs["loss"].backward()
    outputs["loss"].backward()


WAYS: dict[str, tuple[Callable[[dict[str, torch.Tensor], Any], None], str]] = {
    "twice": (
        twice,
        "create_graph=True asks for gradients of gradients, which are not planned: call eager_forward, the",
    ),
    "retained": (retained, "retain_graph=True needs eager_forward, the forward of model.py"),
    "again": (again, "Trying to backward through the graph a second time"),
    "other": (
        lambda outputs, _: outputs["it's"].sum().backward(),
        """a gradient arrived for output["it's"], which head makes, but this file was generated for that of """
        "output['loss'] alone",
    ),
}


@pytest.mark.parametrize("name", WAYS)
def test_backward_that_was_not_planned(name: str, generated: ModuleType) -> None:
    act, words = WAYS[name]
    model = generated.Net()
    outputs = model(generated.example_inputs())
    with pytest.raises(RuntimeError) as caught:
        act(outputs, model)
    assert words in str(caught.value)


def test_eager_forward_gives_gradients_of_gradients(generated: ModuleType) -> None:
    model = generated.Net()
    twice(model.eager_forward(generated.example_inputs()), model)
    assert model.fc.weight.grad is not None


SCRIPT = """import argparse
import torch
from torch import nn
parser = argparse.ArgumentParser()
parser.add_argument(ARGUMENT)
opt = parser.parse_args()
class Net(nn.Module):
    def forward(self, x):
        return x * int(opt.size)
"""


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ('"-s", "--size", required=True', 'add_argument("--size", ...): `default=...` in place of `required=True`'),
        ('"size"', 'add_argument("size", ...): add `nargs="?", default=...`'),
    ],
)
def test_a_script_with_arguments(argument: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(SCRIPT.replace("ARGUMENT", argument), "utf-8")
    result = cli("model.py", "--inputs", "torch.ones(2)", "--dump", "load")
    first, *hint = result.stderr.splitlines()
    assert result.exit_code == 2 and first.startswith("error: model.py:6:7: the file parses its command line")
    assert "the following arguments are required: " in first
    assert [line.strip() for line in hint[:2]] == ["give the arguments defaults:", words]
    assert hint[2].startswith('  or parse below `if __name__ == "__main__":`') and len(hint) == 3


def test_warnings_from_inside_torch_are_not_shown(tmp_path: Path) -> None:
    """FakeTensor's, about data pointers; those of the user's own file are."""
    text = (ROOT / "tests" / "kinds" / "tenc.py").read_text("utf-8")
    (tmp_path / "model.py").write_text(text + '\nimport warnings\n\nwarnings.warn("mine", stacklevel=1)\n', "utf-8")
    result = command("model.py", "--budget", "100%", "-o", "out.py", "--no-verify", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    (warned,) = [line for line in result.stderr.splitlines() if "Warning" in line]
    assert "model.py" in warned and warned.endswith("UserWarning: mine") and "site-packages" not in result.stderr
