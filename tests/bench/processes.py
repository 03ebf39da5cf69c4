"""A job in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def job(script: str, *arguments: str) -> dict[str, Any]:
    """What `script`, a file beside this one, prints as its last line.  Raises RuntimeError when it fails."""
    done = _python(str(HERE / script), *arguments)
    if done.returncode:
        raise RuntimeError(f"{script} {' '.join(arguments)[:200]}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def command(*arguments: str) -> str:
    """Run the tool; its standard error when it cannot, else nothing."""
    done = _python("-m", "hiremate_gen", *arguments)
    return done.stderr if done.returncode else ""


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(HERE.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "KINETO_LOG_LEVEL": "99"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
