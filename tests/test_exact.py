"""Models of kinds that were refused or came out wrong, by the command, against eager with torch alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import ROOT, command

KINDS = ROOT / "tests" / "kinds"


@pytest.mark.parametrize("budget", ["100%", "80%"])
@pytest.mark.parametrize("kind", ["fourier", "fourier_in_place"])
def test_command_and_eager(kind: str, budget: str, tmp_path: Path) -> None:
    """Bit for bit, and under the budget at the allocator."""
    shutil.copy(KINDS / f"{kind}.py", tmp_path / "model.py")
    done = command("model.py", "--budget", budget, "-o", "remat.py", "--save-plan", "plan.json", cwd=tmp_path)
    assert done.returncode == 0 and "more than planned" not in done.stderr, done.stderr
    script = str(ROOT / "tests" / "against_eager.py")
    compared = subprocess.run(
        [sys.executable, script, "model.py", "remat.py"], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    found = json.loads(compared.stdout)
    assert found["failed"] == [], compared.stderr
    assert found["peak_bytes"] <= json.loads((tmp_path / "plan.json").read_text("utf-8"))["budget_bytes"]
