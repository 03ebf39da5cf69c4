"""The same as in `test_diffs`, of what the command itself writes: with the plans of its solver."""

from __future__ import annotations

from pathlib import Path

import black
import pytest
from command import ROOT, command
from test_diffs import MODE, MODEL, changed, limits


def written(folder: Path, text: str, budget: str) -> str:
    """What the command writes for a model with this text."""
    (folder / "model.py").write_text(text, "utf-8")
    done = command("model.py", "--budget", budget, "-o", "out.py", "--no-verify", cwd=folder)
    assert done.returncode == 0, done.stderr
    return (folder / "out.py").read_text("utf-8")


def code(rows: list[str]) -> list[str]:
    """Those of changed lines that are no comments or docstrings."""
    return [r for r in rows if not r[1:].lstrip().startswith(("#", '"""', "Keeps", "Runs again"))]


def test_another_layer(tmp_path: Path) -> None:
    deep = MODEL.replace("depth=6", "depth=12")
    rows = changed(written(tmp_path, deep, "100%"), written(tmp_path, deep.replace("depth=12", "depth=13"), "100%"))
    assert len(code(rows)) <= 8, rows
    assert len(rows) <= 32, rows


def test_a_renamed_variable(tmp_path: Path) -> None:
    renamed = MODEL.replace("a, b = self", "left, b = self").replace("F.gelu(a)", "F.gelu(left)")
    rows = changed(written(tmp_path, MODEL, "80%"), written(tmp_path, renamed, "80%"))
    assert len(rows) <= 64, rows


def test_one_percent_of_the_budget(tmp_path: Path) -> None:
    """Where the plan stays the same, nothing but the header differs; where it does not, half of the file stays."""
    kept, more = (written(tmp_path, MODEL, f"{k}%") for k in (200, 202))
    assert all(r[1:].startswith("# ") for r in changed(kept, more))
    assert len(changed(kept, more)) <= 6
    one, two = (written(tmp_path, MODEL, f"{k}%") for k in (80, 81))
    assert len(changed(one, two)) <= len(one.splitlines()) // 2


def test_another_batch_size(tmp_path: Path) -> None:
    rows = changed(written(tmp_path, MODEL, "100%"), written(tmp_path, MODEL.replace("64", "48"), "100%"))
    assert sum(r.startswith("+") for r in rows) == sum(r.startswith("-") for r in rows)
    assert len([r for r in code(rows) if "  # " not in r]) <= 30, rows


def test_classes_in_another_order(tmp_path: Path) -> None:
    alone = 'class Alone(nn.Module):\n    """Not used."""\n\n\n'
    moved = MODEL.replace(alone, "").replace("class Other", alone + "class Other")
    assert len(changed(written(tmp_path, MODEL, "80%"), written(tmp_path, moved, "80%"))) <= 12


@pytest.mark.parametrize("attention", ["flash", "manual"])
def test_a_deep_gpt_is_short(attention: str, tmp_path: Path) -> None:
    source = (ROOT / "golden" / "gpt" / "model.py").read_text("utf-8")
    sizes = f"n_layer=48, n_embd=32, n_head=2, block_size=32, vocab_size=64, attention='{attention}'"
    source = source.replace("GPTConfig())", f"GPTConfig({sizes}))").replace("(0, 512, (16, 129))", "(0, 64, (32, 33))")
    source = black.format_str(source, mode=MODE)
    text = written(tmp_path, source, "60%")
    assert limits(text, source) < 900
    assert "recompute" in text
