"""Golden cases that must fail: the exact words and the exit code, and nothing written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from hiremate_gen.cli import main

GOLDEN = Path(__file__).parent.parent / "golden"
CASES = sorted(p.parent.name for p in GOLDEN.glob("*/stderr.txt")) or sorted(p.name for p in GOLDEN.iterdir())


@pytest.mark.parametrize("name", CASES)
def test_fails_as_recorded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    case = GOLDEN / name
    shutil.copytree(case, tmp_path / "case")
    monkeypatch.chdir(tmp_path / "case")
    before = {p.name: p.read_bytes() for p in Path().iterdir() if p.is_file()}
    args = (case / "args.txt").read_text("utf-8").splitlines()
    result = CliRunner().invoke(main, ["model.py", *args], prog_name="hiremate-gen")
    said = "".join(line.rstrip() + "\n" for line in result.stderr.splitlines())
    if request.config.getoption("--regenerate"):
        (case / "stderr.txt").write_text(said, "utf-8", newline="\n")
    assert said == (case / "stderr.txt").read_text("utf-8")
    assert result.exit_code == int((case / "exit_code").read_text())
    assert result.stdout == ""
    assert {p.name: p.read_bytes() for p in Path().iterdir() if p.is_file()} == before
