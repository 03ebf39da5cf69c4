"""Models of kinds that were refused or came out wrong, by the command, against eager with torch alone."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from command import ROOT, command

import hiremate_gen

KINDS = ROOT / "tests" / "kinds"


def test_what_takes_gradients(tmp_path: Path) -> None:
    """What eager returns without a gradient can be looked at as there, and added to the loss."""
    text = (KINDS / "detached.py").read_text("utf-8")
    one = hiremate_gen.generate(str(KINDS / "detached.py"), "90%").text
    found = []
    for name, source in (("detached_eager", text), ("detached_remat", one)):
        (tmp_path / f"{name}.py").write_text(source, "utf-8")
        torch.manual_seed(0)
        module = runpy.run_path(str(tmp_path / f"{name}.py"))
        model, x = module["Net"](), module["example_inputs"]()
        out = model(x)
        (out["loss"] + out["logged"]).backward()
        out["logged"].numpy(), out["error"].item(), out["frozen"].numpy()
        found.append(({k: v.requires_grad for k, v in out.items()}, [p.grad for p in model.parameters()]))
    assert found[0][0] == found[1][0]
    assert all(torch.equal(a, b) for a, b in zip(found[0][1], found[1][1], strict=True))


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
