"""Golden cases that must succeed: from the recorded plan, the recorded bytes; and those bytes do what they promise.

A run is `args.txt`, `plan.json`, `expected.py` in a folder of golden/, or the same names with a suffix (`args_50.txt`).
`pytest tests/test_golden.py --regenerate` solves and writes them anew; `--keep-plans` with it only writes the text.
"""

from __future__ import annotations

import difflib
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import black
import pytest
from command import ROOT, command

GOLDEN = ROOT / "golden"


@dataclass(frozen=True)
class Run:
    """One recorded command of a case."""

    case: Path
    suffix: str

    @property
    def name(self) -> str:
        return self.case.name + self.suffix

    @property
    def arguments(self) -> list[str]:
        return (self.case / f"args{self.suffix}.txt").read_text("utf-8").splitlines()

    @property
    def plan(self) -> Path:
        return self.case / f"plan{self.suffix}.json"

    @property
    def expected(self) -> Path:
        return self.case / f"expected{self.suffix}.py"


RUNS = [
    Run(path.parent, path.stem.removeprefix("args"))
    for path in sorted(GOLDEN.glob("*/args*.txt"))
    if not (path.parent / "stderr.txt").exists()
]
each_run = pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)


def test_every_model_has_a_run() -> None:
    cases = {path.parent.name for path in GOLDEN.glob("*/model.py") if not (path.parent / "stderr.txt").exists()}
    assert cases == {run.case.name for run in RUNS} >= {"mlp", "gpt", "llama", "resnet", "unet", "vit"}


@each_run
def test_text(run: Run, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    case, elsewhere = tmp_path / "case", tmp_path / "elsewhere"
    shutil.copytree(run.case, case)
    elsewhere.mkdir()
    regenerate = request.config.getoption("--regenerate")
    if regenerate and not (request.config.getoption("--keep-plans") and run.plan.exists()):
        _generate(elsewhere, case, run, "--save-plan", str(case / run.plan.name), "--force")
        shutil.copyfile(case / run.plan.name, run.plan)
    _generate(elsewhere, case, run, "--plan", str(case / run.plan.name), "--no-verify")
    text = (case / "model_remat.py").read_bytes().decode("utf-8")
    if regenerate:
        run.expected.write_text(text, "utf-8", newline="\n")
    expected = run.expected.read_bytes().decode("utf-8")
    if text != expected:
        pytest.fail(_difference(run, expected, text), pytrace=False)
    assert not list(elsewhere.iterdir())


def _generate(cwd: Path, case: Path, run: Run, *more: str) -> None:
    arguments = [str(case / "model.py"), *run.arguments, "-o", str(case / "model_remat.py"), *more]
    done = command(*arguments, cwd=cwd, PYTHONHASHSEED="4242")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def _difference(run: Run, expected: str, text: str) -> str:
    rows = list(difflib.unified_diff(expected.splitlines(), text.splitlines(), "expected", "generated", lineterm=""))
    again = f"pytest tests/test_golden.py --regenerate -k '{run.name}'"
    rest = [f"... {len(rows) - 200} more lines"] if len(rows) > 200 else []
    head = f"{run.name}: the text is not what {run.expected.name} says; if it should change:\n  {again}"
    return "\n".join([head, *rows[:200], *rest])


@each_run
def test_style(run: Run) -> None:
    text = run.expected.read_text("utf-8")
    compile(text, run.expected.name, "exec", dont_inherit=True)
    mode = black.Mode(line_length=88, target_versions={black.TargetVersion.PY311})
    assert black.format_str(text, mode=mode) == text
    assert text.isascii() or not (run.case / "model.py").read_text("utf-8").isascii()
    assert "\r" not in text and not re.search(r"[ \t]$", text, re.M)
    absolute = re.findall(r"(?:(?<=[\s\"'(=])|^)/[A-Za-z_][\w.-]*/[\w./-]*|[A-Z]:\\\\|~/", text)
    assert not absolute
    assert "hiremate_gen" not in text
    assert not re.search(r"\b(eval|exec|__import__|pickle)\(", text)


@each_run
def test_plan_says_what_was_asked(run: Run) -> None:
    plan, header = json.loads(run.plan.read_text("utf-8")), run.expected.read_text("utf-8").partition('"""')[0]
    assert f"({plan['budget_bytes']} bytes)" in header
    assert plan["source_sha256"].startswith(_one(r"sha256:(\w+)", header))
    assert int(_one(r"# peak .*\((\d+) bytes;", header)) <= plan["budget_bytes"]
    command = _one(r"# (hiremate-gen model.py .*)", header)
    assert command.split()[2:] == [*run.arguments, "--plan", run.plan.name, "-o", "model_remat.py"]


def _one(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match, pattern
    return match[1]


@each_run
def test_against_eager(run: Run, tmp_path: Path) -> None:
    for path in (run.case / "model.py", run.expected):
        shutil.copy(path, tmp_path / path.name)
    script = str(ROOT / "tests" / "against_eager.py")
    arguments = [sys.executable, script, str(tmp_path / "model.py"), str(tmp_path / run.expected.name)]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["failed"] == []
    predicted = int(_one(r"# peak .*\((\d+) bytes;", run.expected.read_text("utf-8")))
    budget = json.loads(run.plan.read_text("utf-8"))["budget_bytes"]
    assert found["peak_bytes"] <= predicted <= budget
    assert found["peak_bytes"] < found["eager_peak_bytes"]


def test_ruff(tmp_path: Path) -> None:
    """With ruff's own rules: nothing that is not found in model.py already."""
    assert (
        _new_findings(tmp_path, "ruff", "check", "--isolated", "--target-version=py311", "--output-format=json") == {}
    )


def test_mypy(tmp_path: Path) -> None:
    """With mypy's own rules: nothing that is not found in model.py already."""
    more = ("--ignore-missing-imports", f"--cache-dir={tmp_path}", "--config-file=", "--output=json")
    assert _new_findings(tmp_path, "mypy", *more) == {}


def _new_findings(folder: Path, tool: str, *arguments: str) -> dict[str, list[str]]:
    """By run: what the tool says of the generated text and not of the same line in model.py."""
    owner: dict[str, Run] = {}
    for run in RUNS:
        for name, path in ((f"{run.name}_model.py", run.case / "model.py"), (f"{run.name}.py", run.expected)):
            shutil.copy(path, folder / name)
            owner[name] = run
    done = subprocess.run(
        [sys.executable, "-m", tool, *arguments, *sorted(owner)], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    rows = json.loads(done.stdout) if tool == "ruff" else [json.loads(line) for line in done.stdout.splitlines()]
    found: dict[str, Counter[str]] = {name: Counter() for name in owner}
    for row in rows:
        name = Path(row.get("filename") or row["file"]).name
        line = row["location"]["row"] if "location" in row else row["line"]
        source = (folder / name).read_text("utf-8").split("\n")[line - 1].strip()
        found[name][f"{row['code']} {row['message']}: {source}"] += 1
    new = {run.name: found[f"{run.name}.py"] - found[f"{run.name}_model.py"] for run in RUNS}
    return {name: sorted(counter.elements()) for name, counter in new.items() if counter}
