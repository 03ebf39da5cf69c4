"""The command from end to end on a tiny model: what it writes, prints, compares and refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from command import ROOT, command

import hiremate_gen
from hiremate_gen.cli import main
from hiremate_gen.errors import UsageError

MODEL = '''"""Blocks with dropout; the stem is frozen."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.down(torch.tanh(self.up(self.norm(x)))))


class Net(nn.Module):
    def __init__(self, dim=16, depth=3):
        super().__init__()
        self.stem = nn.Linear(dim, dim).requires_grad_(False)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return x.square().mean()


def example_inputs():
    return torch.randn(256, 16)


if __name__ == "__main__":
    raise SystemExit("training is not part of planning")
'''
STAGES = {
    "load": "x: float32[256, 16]",
    "trace": "torch.ops.aten.tanh.default",
    "graph": "blocks.1",
    "partition": "blocks.0",
    "solve": "backward",
    "schedule": "forward",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL, "utf-8")
    return tmp_path


def cli(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), prog_name="hiremate-gen")


def good(*args: str) -> Result:
    result = cli(*args)
    assert result.exit_code == 0, result.output
    return result


def header(text: str, key: str) -> str:
    match = re.search(rf"^# {key} +(.*)$", text, re.M)
    assert match, key
    return match[1]


def peak(text: str) -> int:
    match = re.search(r"\((\d+) bytes;", header(text, "peak"))
    assert match
    return int(match[1])


def unsealed(text: str) -> list[str]:
    """Lines without the seal, which digests the command as well."""
    return [line for line in text.splitlines() if not line.startswith("# seal ")]


def test_same_bytes_everywhere(folder: Path) -> None:
    """Another hash seed, working directory, thread count and locale."""
    (folder / "deep").mkdir()
    one = command("model.py", "--budget", "70%", "-o", "a.py", cwd=folder, PYTHONHASHSEED="1", OMP_NUM_THREADS="1")
    more = {"PYTHONHASHSEED": "2", "OMP_NUM_THREADS": "2", "TZ": "Asia/Tokyo", "COLUMNS": "40", "LC_ALL": "C"}
    two = command("../model.py", "--budget", "70%", "-o", str(folder / "deep" / "a.py"), cwd=folder / "deep", **more)
    assert (one.returncode, two.returncode) == (0, 0), one.stderr + two.stderr
    assert (folder / "a.py").read_bytes() == (folder / "deep" / "a.py").read_bytes()
    assert str(folder) not in (folder / "a.py").read_text("utf-8")
    assert one.stderr.splitlines()[-1] == two.stderr.splitlines()[-1] and one.stdout == two.stdout == ""


MANY = """
import pathlib, sys, hiremate_gen
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.py")):
    print(hiremate_gen.generate(str(path), "100%", verify=False).text)
"""


def test_no_kind_of_model_depends_on_the_hash_seed() -> None:
    """Names that several values want went to whichever came first out of a set."""
    kinds = str(ROOT / "tests" / "kinds")
    path = os.pathsep.join([str(ROOT), *sys.path])
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", MANY, kinds],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for seed in ("1", "2")
    ]
    one, two = (run.communicate()[0] for run in runs)
    assert one.count(b"# Code generated") > 40 and one == two


def test_too_small_a_share_names_place_and_share(folder: Path) -> None:
    (folder / "nets").mkdir()
    shutil.copy(folder / "model.py", folder / "nets" / "model.py")
    done = cli("nets/model.py", "--budget", "1%", "-o", "-", "--no-verify")
    assert done.exit_code == 4 and done.stderr.startswith("error: nets/model.py:")
    assert re.search(r"give --budget \d+ \(\d+\.\d % of what keeping everything takes\) or more", done.stderr)


def test_check(folder: Path) -> None:
    good("model.py", "--budget", "70%", "-o", "-", "--save-plan", "plan.json")
    args = ("model.py", "--budget", "70%", "-o", "out.py", "--plan", "plan.json")
    assert cli(*args, "--check").exit_code == 1 and not Path("out.py").exists()
    good(*args)
    text = Path("out.py").read_bytes()
    os.utime("out.py", (1e9, 1e9))
    good(*args)  # nothing to write
    result = good(*args, "--check")
    assert result.stdout == "" and "out.py is up to date" in result.stderr
    assert os.stat("out.py").st_mtime == 1e9

    Path("out.py").write_bytes(text.replace(b"tanh", b"sin", 1))  # the seal knows; tests/test_check.py has the rest
    os.utime("out.py", (1e9, 1e9))
    result = cli(*args, "--check")
    assert (result.exit_code, result.stdout) == (1, "") and "out.py is not up to date" in result.stderr
    result = cli(*args, "--diff")
    lines = result.stdout.splitlines()
    assert result.exit_code == 1 and lines[:2] == ["--- out.py (on disk)", "+++ out.py (generated)"]
    assert len([row for row in lines[2:] if row[0] in "+-"]) == 2
    assert os.stat("out.py").st_mtime == 1e9 and b"sin" in Path("out.py").read_bytes()


def test_check_sees_a_changed_model(folder: Path) -> None:
    args = ("model.py", "--budget", "70%", "-o", "out.py")
    good(*args)
    Path("model.py").write_text(MODEL.replace("depth=3", "depth=4"), "utf-8")
    assert cli(*args, "--check").exit_code == 1


def test_standard_output(folder: Path) -> None:
    """Nothing but the file, whatever the solver and the model print."""
    Path("model.py").write_text(MODEL.replace("x = self.stem(x)", "x = self.stem(x); print('forward')"), "utf-8")
    result = command("model.py", "--budget", "70%", "-o", "-", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("# Code generated by hiremate-gen. DO NOT EDIT.\n")
    assert result.stdout.endswith("\n") and "forward\n" not in result.stdout.splitlines(keepends=True)
    assert "peak" in result.stderr and sorted(os.listdir()) == ["model.py"]
    compile(result.stdout, "out.py", "exec")


@pytest.mark.parametrize("stage", STAGES)
def test_dump(stage: str, folder: Path) -> None:
    budget = ("--budget", "70%") if stage in ("solve", "schedule") else ()
    result = good("model.py", *budget, "--dump", stage)
    assert STAGES[stage] in result.stdout and "class Net" not in result.stdout, result.stdout
    assert result.stdout == good("model.py", *budget, "--dump", stage).stdout
    assert sorted(os.listdir()) == ["model.py"]


def test_dump_needs_a_budget_only_where_one_is_used(folder: Path) -> None:
    assert cli("model.py", "--dump", "solve").exit_code == 2


def test_plan(folder: Path) -> None:
    result = good("model.py", "--budget", "70%", "-o", "out.py", "--save-plan", "plan.json")
    again = good("model.py", "--budget", "70%", "-o", "again.py", "--plan", "plan.json")
    assert result.stderr == again.stderr
    first, second = (Path(n).read_text("utf-8").splitlines() for n in ("out.py", "again.py"))
    different = [row for row in zip(first, second, strict=True) if row[0] != row[1]]
    assert len(different) == 2 and "--plan plan.json" in different[0][1] and "# seal " in different[1][1]
    plan = json.loads(Path("plan.json").read_text("utf-8"))
    assert plan["budget_bytes"] == int(re.findall(r"\((\d+) bytes\)", "\n".join(first))[0])


def test_plan_that_does_not_belong(folder: Path) -> None:
    good("model.py", "--budget", "70%", "-o", "out.py", "--save-plan", "plan.json")
    args = ("--budget", "70%", "-o", "new.py", "--plan", "plan.json")

    Path("other.py").write_text(MODEL.replace("self.blocks", "self.layers"), "utf-8")
    result = cli("other.py", *args)
    assert result.exit_code == 2 and "plan.json: is a plan for another version of the model" in result.stderr

    plan = json.loads(Path("plan.json").read_text("utf-8"))
    for broken in ("", "[]", "{}", json.dumps({**plan, "format": 99}), json.dumps({**plan, "segments": []})):
        Path("plan.json").write_text(broken, "utf-8")
        result = cli("model.py", *args)
        assert result.exit_code == 2 and "error: plan.json: is " in result.stderr, (broken[:40], result.stderr)
    for at, segment in enumerate(plan["segments"]):
        rows = [*plan["segments"][:at], *plan["segments"][at + 1 :]]
        Path("plan.json").write_text(json.dumps({**plan, "segments": rows}), "utf-8")
        result = cli("model.py", *args)
        assert result.exit_code == 2, (segment, result.stderr)
    assert not Path("new.py").exists()


def test_plan_over_the_budget(folder: Path) -> None:
    text = good("model.py", "--budget", "100%", "-o", "-", "--save-plan", "plan.json").stdout
    result = cli("model.py", "--budget", str(peak(text) - 1), "-o", "out.py", "--plan", "plan.json")
    assert result.exit_code == 4 and str(peak(text)) in result.stderr
    assert not Path("out.py").exists()


def test_budgets(folder: Path) -> None:
    """Percent, units and bytes mean the same; more budget costs no more; all of it recomputes nothing."""
    whole = good("model.py", "--budget", "100%", "-o", "-").stdout
    assert "recompute" not in whole.partition("class Net")[0].partition("aten = ")[2]
    assert header(whole, "overhead").startswith("+0.0 %")
    eager = peak(whole)
    percents = [100, 85, 70, 60]
    texts = [good("model.py", "--budget", f"{percent}%", "-o", "-").stdout for percent in percents]
    overheads = [float(header(text, "overhead").split()[0]) for text in texts]
    assert overheads == sorted(overheads) and overheads[-1] > 0
    for percent, text in zip(percents, texts, strict=True):
        assert peak(text) <= eager * percent // 100
    in_bytes = good("model.py", "--budget", str(eager * 70 // 100), "-o", "-").stdout
    assert unsealed(in_bytes)[3:] == unsealed(texts[2])[3:]
    in_units = good("model.py", "--budget", f"{eager / 1024 + 0.001:.3f}KiB", "-o", "-").stdout
    assert unsealed(in_units)[10:] == unsealed(whole)[10:]


def test_the_smallest_budget_works(folder: Path) -> None:
    result = cli("model.py", "--budget", "10KiB", "-o", "out.py")
    assert result.exit_code == 4 and not Path("out.py").exists()
    match = re.search(r"smallest budget that works is (\d+) bytes \(.*\), set by (.+) in the (\w+) of", result.stderr)
    assert match, result.stderr
    assert peak(good("model.py", "--budget", match[1], "-o", "-").stdout) <= int(match[1])
    assert cli("model.py", "--budget", str(int(match[1]) - 1), "-o", "-").exit_code == 4


def test_call(folder: Path) -> None:
    printed = good("model.py", "--budget", "70%", "-o", "-").stdout
    result = hiremate_gen.generate("model.py", "70%")
    assert result.text == printed and json.loads(result.plan_json)["format"] == 1
    with pytest.raises(UsageError, match="is not a size"):
        hiremate_gen.generate("model.py", "a lot")


def test_an_existing_file_is_kept(folder: Path) -> None:
    Path("out.py").write_text("mine\n", "utf-8")
    assert cli("model.py", "--budget", "70%", "-o", "out.py").exit_code == 2
    assert Path("out.py").read_text("utf-8") == "mine\n"
    good("model.py", "--budget", "70%", "-o", "out.py", "--force")
    good("model.py", "--budget", "80%", "-o", "out.py")  # ours now
    assert cli("model.py", "--budget", "70%", "-o", "model.py", "--force").exit_code == 2
    assert Path("model.py").read_text("utf-8") == MODEL


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The wheel of this checkout, unpacked as pip would."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("hiremate_gen", "templates", "pyproject.toml", "README.md", "LICENSE"):
        whole = ROOT / name
        (shutil.copytree if whole.is_dir() else shutil.copy)(whole, source / name)  # type: ignore[operator]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(folder), str(source)]
    subprocess.run(build, check=True, capture_output=True)
    (built,) = folder.glob("hiremate_gen-*.whl")
    into = folder / "site"
    install = [*pip, "install", "--no-deps", "--no-index", "--no-compile", "--target", str(into), str(built)]
    subprocess.run(install, check=True, capture_output=True)
    shutil.rmtree(source)
    yield into


def test_installed(wheel: Path, folder: Path) -> None:
    """What pip installs works alone, templates included, and gives the same bytes as the checkout."""
    code = "import hiremate_gen, sys; print(hiremate_gen.__file__); from hiremate_gen.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "model.py", "--budget", "70%", "-o", "out.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(wheel)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(wheel)
    assert (folder / "out.py").read_text("utf-8") == hiremate_gen.generate("model.py", "70%", output="out.py").text
