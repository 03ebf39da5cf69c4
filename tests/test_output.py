"""Writing: whole, only when changed, never over what is not ours; and the exit codes of the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hiremate_gen.cli import main
from hiremate_gen.config import Options
from hiremate_gen.errors import InfeasibleError, InternalError, UnsupportedError, UsageError
from hiremate_gen.output import FIRST_LINE, check_target, difference, write


def test_write_is_atomic_and_keeps_an_unchanged_file(tmp_path: Path) -> None:
    path = tmp_path / "out.py"
    assert write(str(path), "naïve = 1\n")
    assert path.read_bytes() == "naïve = 1\n".encode()
    os.utime(path, (1, 1))
    assert not write(str(path), "naïve = 1\n")
    assert path.stat().st_mtime == 1
    path.chmod(0o600)
    assert write(str(path), "a = 1\n")
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["out.py"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.py"
    path.write_text("old\n")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write(str(path), "new\n")
    assert path.read_text() == "old\n"
    assert os.listdir(tmp_path) == ["out.py"]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text("old\n")
    (tmp_path / "link.py").symlink_to("real.py")
    write(str(tmp_path / "link.py"), "new\n")
    assert (tmp_path / "link.py").is_symlink()
    assert (tmp_path / "real.py").read_text() == "new\n"


def test_targets(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.py", tmp_path / "theirs.py"
    ours.write_text(FIRST_LINE + "\n")
    theirs.write_text("print()\n" + FIRST_LINE)
    check_target("-", force=False)
    check_target(str(tmp_path / "new.py"), force=False)
    check_target(str(ours), force=False)
    check_target(str(theirs), force=True)
    for path, words in ((theirs, "not written by"), (tmp_path / "no" / "a.py", "does not exist"), (tmp_path, "folder")):
        with pytest.raises(UsageError, match=words):
            check_target(str(path), force=False)


def test_difference(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    assert difference(str(path), "a\n").splitlines()[2:] == ["@@ -0,0 +1 @@", "+a"]
    path.write_bytes(b"a\r\nb\x0c\r\n")
    assert difference(str(path), "a\nb\x0c\n") == ""
    assert difference(str(path), "a\nc").endswith("-b\x0c\n+c\n\\ No newline at end of file\n")


Run = Any


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command line over a pipeline that gives `run.text` or raises `run.error`."""
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text("class Net: ...\n")
    state = SimpleNamespace(text=FIRST_LINE + "\n", error=None, options=None)

    def generate(options: Options, report: Any) -> SimpleNamespace:
        print("user code prints")
        report("solving")
        state.options = options
        if state.error is not None:
            raise state.error
        return SimpleNamespace(text=state.text, summary="done\n", plan_json="{}\n", tables=(), page="")

    fake = ModuleType("hiremate_gen.pipeline")
    fake.generate = generate  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hiremate_gen.pipeline", fake)
    return lambda *args, **change: state.__dict__.update(change) or (invoke(*args), state.options)


def invoke(*args: str) -> Result:
    return CliRunner().invoke(main, args, prog_name="hiremate-gen")


def test_generate_and_check(run: Run) -> None:
    result, options = run("model.py", "--budget", "60%", "-o", "out.py", "--inputs", "a", "--inputs", "b=1")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "user code prints\ndone\n")
    assert Path("out.py").read_text() == FIRST_LINE + "\n"
    assert options.budget == 0.6 and options.inputs == ("a", "b=1") and options.verify and not options.force
    assert options.command == "hiremate-gen model.py --budget 60% --inputs a --inputs b=1 -o out.py"
    result, _ = run("model.py", "--budget", "60%", "-o", "out.py", "--check")
    assert (result.exit_code, result.stdout) == (1, "")  # no seal
    assert result.stderr == "out.py is not up to date: it was written by another version of hiremate-gen\n"
    result, _ = run("model.py", "--budget", "60%", "-o", "out.py", "--diff", text=FIRST_LINE + "\nx\n")
    assert result.exit_code == 1 and result.stdout.splitlines()[-1] == "+x"
    assert Path("out.py").read_text() == FIRST_LINE + "\n"
    result, _ = run("model.py", "--budget", "1GiB", "-o", "missing.py", "--check")
    assert result.exit_code == 1 and not Path("missing.py").exists()


def test_standard_output_is_the_file_alone(run: Run) -> None:
    result, _ = run(
        "model.py", "--budget", "1GiB", "-o", "-", "--no-verify", "--save-plan", "plan.json", text="naïve\n"
    )
    assert result.stdout_bytes == "naïve\n".encode()
    assert Path("plan.json").read_text() == "{}\n"
    result, options = run("model.py", "--dump", "load", text="stage\n")
    assert (result.exit_code, result.stdout, options.dump, options.verify) == (0, "stage\n", "load", True)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (UnsupportedError("no", where="model.py:3:1", hint="do"), 3, "error: model.py:3:1: no\n  do\n"),
        (InfeasibleError("small", minimum_bytes=5), 4, "error: small\n"),
        (InternalError("differs"), 70, "error: differs\n"),
        (ZeroDivisionError("by\nzero"), 70, "internal error: ZeroDivisionError: by zero\n"),
    ],
)
def test_exit_codes(run: Run, error: Exception, code: int, words: str) -> None:
    result, _ = run("model.py", "--budget", "1GiB", "-o", "out.py", error=error)
    assert result.exit_code == code and words in result.stderr and "Traceback" not in result.stderr
    assert not Path("out.py").exists()
    result, _ = run("model.py", "--budget", "1GiB", "-o", "out.py", "--traceback", error=error)
    assert result.exit_code == code and "Traceback" in result.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nowhere.py", "--budget", "1", "-o", "o.py"], "there is no such file"),
        (["model.py", "-o", "o.py"], "the budget is missing"),
        (["model.py", "--budget", "1"], "the output is missing"),
        (["model.py", "--budget", "1", "-o", "-", "--check"], "nothing to compare"),
        (["model.py", "--budget", "1", "-o", "no/o.py"], "folder no does not exist"),
        (["model.py", "--budget", "1", "-o", "model.py", "--force"], "would replace the model"),
        (["model.py", "--budget", "0", "-o", "o.py"], "not above zero"),
        (["model.py", "--budget", "1", "-o", "o.py", "--plan", "p.json"], "there is no file p.json"),
        (["model.py", "--budget", "1", "-o", "o.py", "--costs", "p.json"], "there is no file p.json"),
        (["model.py", "--budget", "1", "-o", "o.py", "--time-limit", "0"], "--time-limit"),
        ([], "the model is missing"),
    ],
)
def test_usage_errors_come_before_any_work(run: Run, args: list[str], words: str) -> None:
    result, options = run(*args)
    assert result.exit_code == 2 and words in result.stderr and options is None


def test_a_generated_file_is_not_a_model(run: Run) -> None:
    Path("model.py").write_text(FIRST_LINE + "\n")
    result, _ = run("model.py", "--budget", "1", "-o", "o.py")
    assert result.exit_code == 2 and "plan the file that it was made from" in result.stderr
