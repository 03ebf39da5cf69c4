"""[tool.hiremate-gen] of pyproject.toml, and the hooks for pre-commit that use it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from command import ROOT, command

from hiremate_gen.cli import main
from hiremate_gen.config import Options
from hiremate_gen.errors import UnsupportedError
from hiremate_gen.output import FIRST_LINE
from hiremate_gen.targets import KEYS, Key

CONFIG = """
[tool.hiremate-gen]
budget = "60%"
verify = false

[[tool.hiremate-gen.targets]]
source = "nets/gpt.py"
output = "nets/gpt_remat.py"
inputs = ["torch.randn(2)", "y=torch.randn(\\n3)"]

[[tool.hiremate-gen.targets]]
source = "unet.py"
output = "unet_remat.py"
budget = 4096
costs = "unit"
save-plan = "unet.json"
time-limit = 5
"""


def cli(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), prog_name="hiremate-gen")


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Options]:
    """A repository with two models and a pipeline that only notes what it is asked for."""
    for name in (".git", "nets", "nets/deep"):
        (tmp_path / name).mkdir()
    for name in ("nets/gpt.py", "unet.py", "other.py"):
        (tmp_path / name).write_text("class Net: ...\n")
    (tmp_path / "pyproject.toml").write_text(CONFIG)
    (tmp_path / "nets" / "pyproject.toml").write_text('[project]\nname = "nets"\n')  # no table of ours
    monkeypatch.chdir(tmp_path)
    found: list[Options] = []

    def generate(options: Options, report: Any) -> SimpleNamespace:
        found.append(options)
        if options.device == "cuda":
            raise UnsupportedError("no", where=options.model_path)
        return SimpleNamespace(
            text=FIRST_LINE + "\n", summary="done", plan_json='{\n "format": 1}\n', tables=(), page=""
        )

    fake = ModuleType("hiremate_gen.pipeline")
    fake.generate = generate  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hiremate_gen.pipeline", fake)
    return found


def test_all_targets(asked: list[Options]) -> None:
    result = cli()
    assert result.exit_code == 0, result.output
    assert result.stderr == "nets/gpt_remat.py: done\nunet_remat.py: done\n" and result.stdout == ""
    gpt, unet = asked
    assert (gpt.model_path, gpt.output, gpt.budget, gpt.verify) == ("nets/gpt.py", "nets/gpt_remat.py", 0.6, False)
    assert gpt.inputs == ("torch.randn(2)", "y=torch.randn( 3)")
    assert gpt.command.startswith("hiremate-gen gpt.py --budget 60% --inputs")
    assert (unet.budget, unet.costs, unet.save_plan, unet.time_limit_s, unet.verify) == (
        4096,
        "unit",
        "unet.json",
        5,
        False,
    )
    assert all(Path(name).exists() for name in ("nets/gpt_remat.py", "unet_remat.py", "unet.json"))


def test_from_a_folder_below(asked: list[Options], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("nets/deep")
    assert cli().exit_code == 0
    assert [o.model_path for o in asked] == ["../gpt.py", "../../unet.py"]


def test_flags_win(asked: list[Options]) -> None:
    assert cli("--budget", "1GiB").exit_code == 0
    assert [o.budget for o in asked] == [2**30, 2**30]
    assert cli("unet.py", "--costs", "roofline").exit_code == 0
    assert [(o.model_path, o.costs, o.output) for o in asked[2:]] == [("unet.py", "roofline", "unet_remat.py")]
    assert cli("-o", "nets/gpt_remat.py", "--device", "meta").exit_code == 0
    assert [(o.model_path, o.device) for o in asked[3:]] == [("nets/gpt.py", "meta")]
    assert cli("unet.py", "-o", "new.py").exit_code == 0
    assert (asked[4].output, asked[4].costs) == ("new.py", "unit")


def test_a_whole_command_line_needs_no_target(asked: list[Options]) -> None:
    assert cli("unet.py", "--budget", "50%", "-o", "new.py").exit_code == 0
    assert (asked[0].costs, asked[0].verify) == ("roofline", True)
    Path("pyproject.toml").write_text("[broken")
    assert cli("unet.py", "--budget", "50%", "-o", "new.py").exit_code == 0
    assert cli("other.py", "--budget", "50%").exit_code == 2


def test_one_failure_does_not_stop_the_others(asked: list[Options]) -> None:
    Path("pyproject.toml").write_text(CONFIG.replace("inputs =", 'device = "cuda"\ninputs ='))
    result = cli()
    assert result.exit_code == 3
    assert result.stderr == "error: nets/gpt_remat.py: nets/gpt.py: no\nunet_remat.py: done\n"


def test_a_message_names_its_target_once(asked: list[Options]) -> None:
    Path("nets/gpt_remat.py").write_text("mine\n")
    assert "error: nets/gpt_remat.py: exists and was not written by hiremate-gen" in cli().stderr


def test_check(asked: list[Options]) -> None:
    result = cli("--check")
    assert result.exit_code == 1 and not asked
    names = ("nets/gpt_remat.py", "unet_remat.py")
    assert result.stderr == "".join(f"{name} is not up to date: it does not exist\n" for name in names)


def test_the_search_ends_at_the_repository(asked: list[Options], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("nets/deep/.git").write_text("gitdir: elsewhere\n")  # as in a submodule
    monkeypatch.chdir("nets/deep")
    result = cli("--check")
    assert result.exit_code == 2 and "error: the model is missing\n  pass MODEL.py, or list targets" in result.stderr


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("budget = 4096", "buget = 4096", "unknown key `buget` in target 2\n  did you mean `budget`?"),
        ("verify = false", "outpt = 3", "unknown key `outpt` in [tool.hiremate-gen]\n  "),
        ("verify = false", 'plan = "p"', "unknown key `plan` in [tool.hiremate-gen]\n  it belongs into [[tool."),
        ("budget = 4096", "budget = true", "`budget` in target 2 must be a string or a number"),
        ('"60%"', '"a lot"', "`budget` in [tool.hiremate-gen]: 'a lot' is not a size"),
        ("inputs = [", "inputs = [3, ", "`inputs` in target 1 must be a list of strings"),
        ("verify = false", "verify = 0", "`verify` in [tool.hiremate-gen] must be true or false"),
        ("time-limit = 5", "time-limit = 0", "`time-limit` in target 2 must be above zero"),
        ('source = "unet.py"', "", "target 2 of [tool.hiremate-gen] has no `source`"),
        (
            '"unet_remat.py"',
            '"nets/../nets/gpt_remat.py"',
            "two targets have the `output` nets/gpt_remat.py",
        ),
        ("[[tool.hiremate-gen.targets]]", "[[tool.hiremate-gen.target]]", "has no targets\n  add [["),
        ("budget = 4096", "budget =", "is not TOML: Invalid value (at line"),
        ('budget = "60%"', "", "target 1: the budget is missing\n  add budget"),
    ],
)
def test_mistakes(old: str, new: str, words: str, asked: list[Options]) -> None:
    assert old in CONFIG
    Path("pyproject.toml").write_text(CONFIG.replace(old, new))
    result = cli()
    assert result.exit_code == 2 and result.stderr.startswith("error: pyproject.toml: "), result.stderr
    assert words in result.stderr and not asked, result.stderr


@pytest.mark.parametrize("flag", ["--plan", "--save-plan", "--dump", "-o"])
def test_what_goes_with_one_target(flag: str, asked: list[Options]) -> None:
    result = cli(flag, "load" if flag == "--dump" else "x.json")
    assert result.exit_code == 2 and "goes with one target" in result.stderr and not asked


def test_choices(asked: list[Options], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEYS, "device", Key("device", choices=("cpu", "cuda")))
    Path("pyproject.toml").write_text(CONFIG.replace("verify = false", 'device = "gpu"'))
    assert "`device` in [tool.hiremate-gen] must be one of cpu, cuda" in cli().stderr and not asked


def test_every_flag_is_a_key_unless_it_is_for_one_run() -> None:
    assert isinstance(main, click.Group)
    flags = {p.name for p in main.commands["generate"].params if p.expose_value}
    once = {"dump", "check", "diff", "explain", "sweep", "force", "cache", "show_traceback"}
    assert flags == {key.option for key in KEYS.values()} | once


def hooks() -> dict[str, dict[str, str]]:
    """.pre-commit-hooks.yaml, as far as ours uses YAML: a list of flat tables."""
    rows = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8").split("- id: ")[1:]
    tables = [dict(re.findall(r"^ *([a-z_]+): (.+)$", f"id: {row}", re.M)) for row in rows]
    return {table["id"]: table for table in tables}


def test_hooks(tmp_path: Path) -> None:
    """Each hook's entry, as pre-commit runs it: from the root of a repository, without names of files."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    entries = {}
    for name, hook in hooks().items():
        program, *entries[name] = shlex.split(hook["entry"])
        assert program in scripts and hook["pass_filenames"] == "false" and hook["language"] == "python"
        assert all(re.search(hook["files"], f) for f in ("a/model.py", "plan.json", "pyproject.toml"))
        assert not re.search(hook["files"], "README.md")
    shutil.copy(ROOT / "tests" / "kinds" / "siamese.py", tmp_path / "model.py")
    target = '[[tool.hiremate-gen.targets]]\nsource = "model.py"\noutput = "out.py"\nbudget = "100%"\nverify = false\n'
    (tmp_path / "pyproject.toml").write_text(target)
    git = ["git", "-c", "core.autocrlf=false"]
    subprocess.run([*git, "init", "-q"], cwd=tmp_path, check=True)

    def run(name: str) -> int:
        return command(*entries[name], cwd=tmp_path).returncode

    def files() -> str:
        return subprocess.run([*git, "status", "-s"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert run("hiremate-gen-check") == 1 and "out.py" not in files()
    assert run("hiremate-gen") == 0 and "?? out.py" in files()
    subprocess.run([*git, "add", "."], cwd=tmp_path, check=True)
    assert run("hiremate-gen-check") == 0
    assert run("hiremate-gen") == 0 and " M" not in files() and "AM" not in files()
    (tmp_path / "out.py").write_text((tmp_path / "out.py").read_text("utf-8") + "# mine\n", "utf-8")
    assert run("hiremate-gen-check") == 1
    assert run("hiremate-gen") == 0 and "AM" not in files()  # as it was when it was added
