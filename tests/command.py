"""The tool as a command of its own, from this checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def command(*args: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m hiremate_gen ARGS` in another process, with more variables in its environment.

    Nothing is taken from the user's cache, or left there.
    """
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "hiremate_gen", *args],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, "HIREMATE_GEN_CACHE": "", **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
    )
