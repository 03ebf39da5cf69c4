"""What cannot be followed on a command line: what is wrong, where, and what to do, in the same form as every error."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hiremate_gen.cli import main

MODEL = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        return torch.tanh(self.fc(x)).mean()


def example_inputs():
    return torch.randn(16, 8)
"""
GOOD = ["model.py", "--budget", "60%", "-o", "out.py"]


def cli(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), prog_name="hiremate-gen")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a model, and nothing that could plan for it."""
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL, "utf-8")
    Path("plan.json").write_text("{}", "utf-8")
    Path("nets").mkdir()


ERRORS = {
    "near option": ([*GOOD, "--bugdet", "1"], "--bugdet: there is no such option\n  did you mean --budget?\n"),
    "only its no": ([*GOOD, "--verify"], "--verify: there is no such option\n  did you mean --no-verify?\n"),
    "short": ([*GOOD, "-x"], "-x: there is no such option\n  hiremate-gen --help lists all options\n"),
    "no value": (["model.py", "--budget"], "--budget: a value is missing\n  hiremate-gen --help tells"),
    "a value": ([*GOOD, "--check=3"], "--check: it takes no value\n"),
    "too many": ([*GOOD, "more.py"], "more.py: there is a word too many\n  give one MODEL.py"),
    "near command": (
        ["profle", "model.py"],
        "model.py: there is a word too many\n  did you mean `hiremate-gen profile`?",
    ),
    "choice": ([*GOOD, "--strategy", "rockmat"], "--strategy: `rockmat` is none of none, sqrt, "),
    "near choice": ([*GOOD, "--dump", "trac"], "solve, schedule\n  did you mean trace?\n"),
    "number": ([*GOOD, "--time-limit", "soon"], "--time-limit: `soon` is not a number of seconds above zero\n  as in"),
    "above zero": ([*GOOD, "--time-limit", "-1"], "--time-limit: `-1` is not a number of seconds above zero\n"),
    "near model": (["modle.py", *GOOD[1:]], "modle.py: there is no such file\n  did you mean model.py?\n"),
    "no model": (["a/b.py", *GOOD[1:]], "a/b.py: there is no such file\n  there is no folder a either\n"),
    "far model": (["nets/x.py", *GOOD[1:]], "nets/x.py: there is no such file\n  paths count from the folder"),
    "folder": (["nets", *GOOD[1:]], "nets: is a folder\n  pass the file in it that has the model\n"),
    "near plan": ([*GOOD, "--plan", "plam.json"], "--plan: there is no file plam.json\n  did you mean plan.json?\n"),
    "no plan": ([*GOOD, "--plan", "x"], "--plan: there is no file x\n  a run with --save-plan FILE makes one\n"),
    "near costs": ([*GOOD, "--costs", "rofline"], "--costs: there is no file rofline\n  did you mean roofline?\n"),
    "no costs": (
        [*GOOD, "--costs", "x"],
        "--costs: there is no file x\n  `hiremate-gen profile MODEL.py -o FILE` makes one",
    ),
    "not a plan": (
        [*GOOD, "--save-plan", "plan.json"],
        "plan.json: exists and was not written by hiremate-gen\n  choose",
    ),
    "profile what": (["profile"], "the model is missing\n  pass MODEL.py, as in: hiremate-gen profile MODEL.py -o"),
    "profile where": (["profile", "model.py"], "the output is missing\n  pass -o profile.json, or -o -"),
    "profile over": (["profile", "model.py", "-o", "plan.json"], "plan.json: exists and was not written by"),
    "profile option": (
        ["profile", "model.py", "--budget", "1"],
        "--budget: there is no such option\n  hiremate-gen pro",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hiremate_gen.pipeline", None)
    args, words = ERRORS[name]
    result = cli(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ") and words in result.stderr, result.stderr
    assert "Usage" not in result.stderr and result.stderr.count("\n") <= 2


def test_a_device_that_does_not_exist() -> None:
    result = cli(*GOOD, "--device", "gpu")
    assert (result.exit_code, result.stderr) == (2, "error: --device: there is no device gpu\n  use cpu or cuda\n")


def test_profile_says_what_it_wrote_and_where() -> None:
    done = cli("profile", "model.py", "-o", "costs.json")
    count = len(json.loads(Path("costs.json").read_text("utf-8"))["ops"])
    assert done.exit_code == 0 and done.stdout == ""
    assert done.stderr.startswith(f"{count} distinct ops of model.py in costs.json, measured on cpu with torch 2.13")
    assert done.stderr.endswith("\n  plan with them: --costs costs.json\n")
    assert cli("profile", "model.py", "-o", "costs.json").exit_code == 0  # ours
    printed = cli("profile", "model.py", "-o", "-")
    assert set(json.loads(printed.stdout)) >= {"ops", "threads"} and "--costs" not in printed.stderr
    assert cli(*GOOD[:2], "100%", *GOOD[3:], "--costs", "costs.json").exit_code == 0
