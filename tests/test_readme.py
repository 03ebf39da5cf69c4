"""What README.md shows is what the tool writes, and what it says about commands and codes holds."""

from __future__ import annotations

import os
import re

import pytest
from click.testing import CliRunner
from command import ROOT

from hiremate_gen import errors, seal
from hiremate_gen.cli import main
from hiremate_gen.config import Options
from hiremate_gen.ir.decode import decode, digest

README = ROOT / "README.md"
EXPECTED = ROOT / "golden" / "mlp" / "expected.py"


def shown() -> tuple[str, str]:
    """The header, and the part of a backward function around what runs again, of the case that README.md shows."""
    text = EXPECTED.read_text("utf-8")
    options = Options("model.py", budget_text="60%", budget=0.6, output="model_remat.py")
    text = re.sub(r"^# hiremate-gen .*$", f"# {options.command}", text, flags=re.M)
    text = re.sub(r"(?<=^# seal      )\S+$", seal.OPEN, text, flags=re.M)
    source = digest(decode(str(EXPECTED.parent / "model.py")))
    text = seal.close(text, options, seal.installed_torch(), [source])
    header = text.partition('\n\n"""')[0]
    functions = re.split(r"\n\n\n(?=def )", text)
    body = next(f for f in functions if f.startswith("def block_backward") and "# recompute h = self.norm" in f)
    start = body.index("    # recompute")
    return header, body[start : body.index("    # grad of h = self.norm(x)")].rstrip("\n")


def test_worked_example(request: pytest.FixtureRequest) -> None:
    text = README.read_text("utf-8")
    header, excerpt = shown()
    new = re.sub(r"(?<=\n```\n)# Code generated.*?(?=\n```)", lambda _: header, text, flags=re.S)
    new = re.sub(r"(?<=\n```python\n).*?(?=\n```)", lambda _: excerpt, new, flags=re.S)
    if request.config.getoption("--regenerate"):
        README.write_text(new, "utf-8", newline="\n")
    assert "recompute" in excerpt and header in new and excerpt in new
    assert README.read_text("utf-8") == new, "pytest tests/test_readme.py --regenerate"


def test_explanation() -> None:
    """What --explain prints of the same case."""
    case = EXPECTED.parent
    arguments = [
        str(case / "model.py"),
        "--budget",
        "60%",
        "--plan",
        str(case / "plan.json"),
        "--no-verify",
        "--explain",
    ]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    (shown,) = re.findall(r"^```\n(blocks\.0, .*?)\n```$", README.read_text("utf-8"), re.M | re.S)
    places = result.stdout.replace(str(case) + os.sep, "")
    assert shown.count("\n") > 3 and [" ".join(line.split()) for line in shown.split("\n")] == [
        " ".join(line.split()) for line in places[places.index("blocks.0, ") :].split("\n")[: shown.count("\n") + 1]
    ]


def test_flags_exist() -> None:
    usage = CliRunner().invoke(main, ["--help"]).stdout
    for name in ("README.md", "CONTRIBUTING.md"):
        commands = re.findall(r"hiremate-gen [^\n`]*", (ROOT / name).read_text("utf-8").replace("\\\n", ""))
        flags = {flag for command in commands for flag in re.findall(r"--[a-z-]+", command)}
        assert flags and flags <= set(re.findall(r"--[a-z-]+", usage)), flags


def test_exit_codes() -> None:
    rows = {int(code) for code in re.findall(r"^\| (\d+) \|", README.read_text("utf-8"), re.M)}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert rows == {0, 1} | {kind.exit_code for kind in kinds}


def test_commands_are_one_line() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", README.read_text("utf-8"), re.S)
    assert len(blocks) == 2 and all(block.count("\n") == 1 for block in blocks)
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    for step in ("pip install torch==2.13.0", "pip install -e '.[test]'", "pytest -n 2 --dist worksteal"):
        assert step in blocks[1].replace(".venv/bin/", "") and step in script.replace(" --quiet", "")
