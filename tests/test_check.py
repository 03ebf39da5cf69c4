"""`--check` from the seal alone: what it notices, what it does not mind, and that it imports nothing that solves."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from command import ROOT

from hiremate_gen import seal
from hiremate_gen.cli import main

MODEL = '''"""A stack whose blocks stand in another file, and whose activation is imported when it runs."""

import torch
from torch import nn

from blocks import Block


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(8), Block(8))

    def forward(self, x):
        from lazy import scale

        return scale(self.blocks(x)).square().mean()


def example_inputs():
    return torch.randn(64, 8)
'''
BLOCKS = """from torch import nn, tanh


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return tanh(self.fc(x))
"""
ARGS = ("src/model.py", "--budget", "90%", "--plan", "plan.json", "-o", "out.py")


def cli(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), prog_name="hiremate-gen")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of three files, its plan, and what was generated."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "src").mkdir()
    for name, text in (("model", MODEL), ("blocks", BLOCKS), ("lazy", "def scale(x):\n    return 2 * x\n")):
        (folder / "src" / f"{name}.py").write_text(text, "utf-8")
    for more in (("--save-plan", "plan.json"), ("--plan", "plan.json")):
        args = ["src/model.py", "--budget", "90%", "-o", "out.py", "--no-verify", *more]
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            result = cli(*args)
        assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it to change, without anything that could generate."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "hiremate_gen.pipeline", None)
    return tmp_path


def replace(path: str, old: str, new: str) -> None:
    text = Path(path).read_bytes().decode("utf-8")
    assert old in text
    Path(path).write_bytes(text.replace(old, new, 1).encode("utf-8"))


def append(path: str, more: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(more)


def test_header_names_every_source(made: Path) -> None:
    header = (made / "out.py").read_text("utf-8").partition('"""')[0]
    assert re.findall(r"(\S+)  sha256:[0-9a-f]{16}$", header, re.M) == ["model.py", "blocks.py", "lazy.py"]


def test_up_to_date(folder: Path) -> None:
    for flag in ("--check", "--diff"):
        result = cli(*ARGS, flag)
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "out.py is up to date\n")


CHANGES: dict[str, tuple[Callable[[], object], str]] = {
    "model": (lambda: replace("src/model.py", "square", "abs"), "src/model.py has changed"),
    "imported": (lambda: replace("src/blocks.py", "tanh(", "1 * tanh("), "src/blocks.py has changed"),
    "imported late": (lambda: replace("src/lazy.py", "2", "3"), "src/lazy.py has changed"),
    "gone": (lambda: Path("src/lazy.py").unlink(), "src/lazy.py, which src/model.py imported, is gone"),
    "plan": (lambda: replace("plan.json", '"status": "', '"status": "x'), "plan.json has changed"),
    "line": (lambda: replace("out.py", "tanh", "sin"), "it was edited by hand"),
    "comment": (lambda: replace("out.py", "# budget  ", "# budget "), "it was edited by hand"),
    "end": (lambda: append("out.py", "\n"), "it was edited by hand"),
    "missing": (lambda: Path("out.py").unlink(), "it does not exist"),
    "foreign": (lambda: Path("out.py").write_text("print()\n"), "it was not written by hiremate-gen"),
    "old": (
        lambda: replace("out.py", f"# seal      v{seal.ALGORITHM}", "# seal      v0"),
        "it was written by another version",
    ),
    "unsealed": (lambda: replace("out.py", "# seal ", "# "), "it was written by another version"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_out_of_date(name: str, folder: Path) -> None:
    change, words = CHANGES[name]
    change()
    result = cli(*ARGS, "--check")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("out.py is not up to date: ") and words in result.stderr, result.stderr
    assert ("edited by hand" in result.stderr) == (name in ("line", "comment", "end"))


OTHERS = {
    "--budget 90%, here 91%": ("--budget", "91%"),
    "--model not given, here 'Net( )'": ("--model", "Net( )"),
    "--device cpu, here cuda": ("--device", "cuda"),
    "--costs roofline, here unit": ("--costs", "unit"),
    "--inputs not given, here a b=1": ("--inputs", "a", "--inputs", "b=1"),
    "--budget 90%, here 91%; --costs roofline, here unit": ("--budget", "91%", "--costs", "unit"),
}


@pytest.mark.parametrize("words", OTHERS)
def test_other_options(words: str, folder: Path) -> None:
    """Which, and both values."""
    result = cli(*ARGS, *OTHERS[words], "--check")
    assert result.exit_code == 1
    assert result.stderr == f"out.py is not up to date: it was made with other options ({words})\n"


def test_a_command_that_cannot_be_read(folder: Path) -> None:
    replace("out.py", "--budget 90%", "--budget '90%")
    said = cli(*ARGS, "--budget", "91%", "--check").stderr
    assert said.endswith(": it was made with other options; it was edited by hand\n")


def test_another_torch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "installed_torch", lambda: "2.99")
    assert cli(*ARGS, "--check").stderr.endswith("it was made with torch 2.13, and here is 2.99\n")


def test_line_ends_and_marks_do_not_count(folder: Path) -> None:
    for name in ("out.py", "plan.json", "src/model.py", "src/blocks.py"):
        path = Path(name)
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    result = cli(*ARGS, "--check")
    assert result.exit_code == 0, result.stderr
    replace("out.py", "\r\n", "\r\n# mine\r\n")
    assert "edited by hand" in cli(*ARGS, "--check").stderr


def test_another_folder_and_name(folder: Path) -> None:
    (folder / "deep").mkdir()
    shutil.copy("out.py", "deep/out.py")
    assert cli(*ARGS[:-1], "deep/out.py", "--check").exit_code == 0
    shutil.copy("out.py", "other.py")
    assert "other options (-o out.py, here other.py)" in cli(*ARGS[:-1], "other.py", "--check").stderr
    shutil.copy("src/model.py", "src/net.py")
    assert "it was not made from src/net.py" in cli("src/net.py", *ARGS[1:], "--check").stderr


def test_nothing_heavy_is_imported(made: Path) -> None:
    code = (
        "import sys, hiremate_gen.cli as c\n"
        f"try: c.main({[*ARGS, '--check']!r})\n"
        "except SystemExit as e: print(e.code)\n"
        "print(sorted({'torch', 'cvxpy', 'highspy', 'libcst', 'black', 'numpy', 'jinja2', 'rich'} & set(sys.modules)))"
    )
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=made, env=environment)
    assert done.stdout.splitlines() == ["0", "[]"], done.stdout + done.stderr


def test_torch_is_the_one_that_traces() -> None:
    from hiremate_gen.trace import TORCH

    assert seal.installed_torch() == TORCH
