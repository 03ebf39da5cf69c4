"""Each `--strategy` from the command line to a file that has run against eager, and what file and plan say about it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from command import ROOT

import hiremate_gen
from hiremate_gen.cli import main
from hiremate_gen.config import STRATEGIES
from hiremate_gen.errors import UsageError

MODEL = ROOT / "golden" / "mlp" / "model.py"
INPUTS = ("torch.randn(512, 64)", "torch.randint(0, 10, (512,))")


def cli(*args: str) -> Result:
    inputs = [word for text in INPUTS for word in ("--inputs", text)]
    return CliRunner().invoke(main, [str(MODEL), *inputs, *args], prog_name="hiremate-gen")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_makes_a_file(strategy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The self-check runs each against eager, bit for bit, and measures its peak; none has to be planned again."""
    monkeypatch.chdir(tmp_path)
    budget = "100%" if strategy == "none" else "80%"
    done = cli(
        "--budget", budget, "--strategy", strategy, "-o", "a.py", "--save-plan", "plan.json", "--time-limit", "20"
    )
    assert done.exit_code == 0, done.stderr
    assert "note" not in done.stderr
    text, plan = Path("a.py").read_text("utf-8"), json.loads(Path("plan.json").read_text("utf-8"))
    assert plan["strategy"] == strategy
    usual = strategy == "hiremate"
    assert (f" --strategy {strategy} " in _command(text)) is not usual
    assert (f"\n# strategy  {strategy}: {plan['status']}\n" in text) is (strategy not in ("hiremate", "none"))
    assert bool(re.search(r"backward +.*again", text)) and ("recompute" in text) is (strategy != "none")
    again = cli("--budget", budget, "--plan", "plan.json", "-o", "b.py", "--no-verify")
    assert again.exit_code == 0, again.stderr
    assert _planned(Path("b.py").read_text("utf-8")) == _planned(text)


def _command(text: str) -> str:
    """The header's command on one line."""
    return re.sub(r" \\\n# +", " ", text).splitlines()[2]


def _planned(text: str) -> list[str]:
    """Without the command, and the seal over it."""
    lines = re.sub(r" \\\n# +", " ", text).splitlines()
    return [line for line in lines[3:] if not line.startswith("# seal ")]


def test_too_small_names_what_the_strategy_needs() -> None:
    done = cli("--budget", "70%", "--strategy", "none", "-o", "-")
    assert done.exit_code == 4
    least = re.search(r"strategy none fits .*: the smallest budget that works with it is (\d+) bytes", done.stderr)
    assert least and f"--budget {least[1]}" in done.stderr
    assert cli("--budget", least[1], "--strategy", "none", "-o", "-", "--no-verify").exit_code == 0


def test_time_limit_is_in_the_command_where_it_decides() -> None:
    flags = ("--budget", "100%", "--time-limit", "7", "--no-verify", "-o", "-")
    assert " --time-limit 7 " in _command(cli(*flags, "--strategy", "checkmate").stdout)
    assert " --time-limit" not in _command(cli(*flags, "--strategy", "sqrt").stdout)


def test_unknown_or_useless() -> None:
    assert cli("--budget", "60%", "--strategy", "best", "-o", "-").exit_code == 2
    plan = str(MODEL.parent / "plan.json")
    done = cli("--budget", "60%", "--strategy", "dtr", "--plan", plan, "-o", "-")
    assert done.exit_code == 2 and "--strategy" in done.stderr
    with pytest.raises(UsageError, match="sqrt, rotor"):
        hiremate_gen.generate(str(MODEL), "60%", strategy="best")


def test_python_call() -> None:
    text = hiremate_gen.generate(str(MODEL), "80%", strategy="sqrt", verify=False).text
    assert "# hiremate-gen model.py --budget 80% --strategy sqrt -o -\n" in text
