"""Golden files are written anew with `pytest --regenerate`; the tool runs as a command of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
Command = Callable[..., subprocess.CompletedProcess[str]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regenerate", action="store_true", help="write what the tool says now into golden/")
    parser.addoption("--keep-plans", action="store_true", help="with --regenerate: solve nothing, keep each plan.json")


@pytest.fixture(scope="session")
def command() -> Command:
    """Run `python -m hiremate_gen ARGS` of this checkout in another process; `environment` as keywords."""

    def run(*args: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        return subprocess.run(
            [sys.executable, "-m", "hiremate_gen", *args],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": path, **environment},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=600,
        )

    return run
