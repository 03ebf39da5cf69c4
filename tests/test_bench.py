"""The benchmark is run by hand; this keeps it runnable."""

from __future__ import annotations

import os
import subprocess
import sys

from command import ROOT

BENCH = ROOT / "tests" / "bench"


def test_starts_and_knows_its_rows() -> None:
    code = "import run, zoo; print(all(r.path.is_file() for r in (*zoo.ZOO, *zoo.SCALE, *zoo.REAL)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=BENCH, env=_env(), capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_finds_what_is_better_than_ours() -> None:
    code = (
        "import tables\n"
        "ours = {'overhead': 0.05}\n"
        "peers = {'none': {}, 'sqrt': {'overhead': 0.04}, 'rotor': {'overhead': 0.06}}\n"
        "peers['checkmate'] = {'overhead': 0.049, 'status': 'optimal'}\n"
        "print('|'.join(tables._worse('here', ours, peers)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=BENCH, env=_env(), capture_output=True, text=True)
    first, second = done.stdout.strip().split("|")
    assert first == "here: sqrt 4.000 is better than ours, 5.000"
    assert second == "here: 0.100 % of the step from the optimum"


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}
