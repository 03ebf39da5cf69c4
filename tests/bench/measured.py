"""Real steps: eager and every peer, and for each peer our file for the peak that the peer was measured to have."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import zoo
from processes import command, job
from rich.console import Console
from rich.table import Table

STRATEGIES = ("sqrt", "rotor", "rockmate", "dtr", "checkmate")
SHARES, FRACTIONS = (80, 60), (0.8, 0.5, 0.2)
BACKENDS = ("inductor", "aot_eager")  # the second runs the same kernels as eager, and needs no C++ compiler
ROUNDS = 15


def compare(row: zoo.Row, folder: Path, threads: int, quick: bool) -> dict[str, Any]:
    """First the peaks of the peers, then times of all, in turns."""
    profile = folder / "profile.json"
    if error := command("profile", *_flags(row), "-o", str(profile)):
        raise RuntimeError(error)
    shares = SHARES[-1:] if quick else SHARES
    contenders: list[tuple[str, str, Any]] = [("eager", "eager", None), ("checkpoint", "checkpoint", row.blocks)]
    contenders += [(f"{b} {f}", "compile", (b, f)) for b in BACKENDS for f in (FRACTIONS[1:2] if quick else FRACTIONS)]
    predicted: dict[str, float] = {}
    for strategy in STRATEGIES:
        for share in shares:
            label = f"{strategy} {share}%"
            path = folder / f"{strategy}_{share}.py"
            if not _write(row, path, profile, f"{share}%", strategy):
                contenders.append((label, "file", str(path)))
                predicted[label] = _predicted(path)
    peers = _measure(row, contenders, threads, 0)
    ours: dict[str, str] = {}
    for number, (label, found) in enumerate(peers.items()):
        path = folder / f"ours_{number}.py"
        if label != "eager" and "peak_bytes" in found:
            error = _write(row, path, profile, str(found["peak_bytes"]), "hiremate")
            ours[label] = "" if error else f"ours for {label}"
            if not error:
                contenders.append((ours[label], "file", str(path)))
                predicted[ours[label]] = _predicted(path)
    found = _measure(row, contenders, threads, ROUNDS)
    return {
        "threads": threads,
        "steps": {k: {**v, "predicted": predicted.get(k), "ours": ours.get(k)} for k, v in found.items()},
    }


def _flags(row: zoo.Row) -> list[str]:
    model = ["--model", row.model] if row.model else []
    return [str(row.path), *model, *(word for text in row.inputs for word in ("--inputs", text))]


def _write(row: zoo.Row, path: Path, profile: Path, budget: str, strategy: str) -> str:
    """Empty, or why there is no file."""
    more = ["--costs", str(profile), "--strategy", strategy, "--time-limit", "60", "--no-verify"]
    return command(*_flags(row), "--budget", budget, *more, "-o", str(path))


def _predicted(path: Path) -> float:
    """The overhead that the header names."""
    overhead = re.search(r"^# overhead +\+(-?[\d.]+) %", path.read_text("utf-8"), re.M)
    assert overhead is not None
    return float(overhead[1]) / 100


def _measure(row: zoo.Row, contenders: list[tuple[str, str, Any]], threads: int, rounds: int) -> dict[str, Any]:
    spec = {"path": str(row.path), "model": row.model, "inputs": row.inputs, "threads": threads, "rounds": rounds}
    return job("real.py", json.dumps({**spec, "contenders": contenders}))


def show_real(console: Console, rows: dict[str, Any]) -> None:
    """Time and peak against eager, and against ours within the same peak."""
    for name, content in rows.items():
        steps, eager = content["steps"], content["steps"]["eager"]
        table = Table(
            title=f"{name}: real steps, {eager['step_s']:.3f} s and {eager['peak_bytes'] / 2**20:.1f} MiB in eager"
        )
        for column in ("peer", "peak", "time", "predicted", "ours: peak", "ours: time", "predicted", ""):
            table.add_column(column, justify="right")
        for label, step in steps.items():
            if label.startswith("ours for "):
                continue
            if "error" in step:
                table.add_row(label, step["error"][:80])
                continue
            ours = steps.get(step["ours"] or "", {})
            worse = "worse" if ours.get("ratio", 0) > step["ratio"] * 1.01 or step["ours"] == "" else ""
            table.add_row(label, *_cells(step, eager), *(_cells(ours, eager) if ours else ("", "", "")), worse)
        console.print(table)


def _cells(step: dict[str, Any], eager: dict[str, Any]) -> tuple[str, str, str]:
    predicted = step.get("predicted")
    return (
        f"{100 * step['peak_bytes'] / eager['peak_bytes']:.1f} %",
        f"{100 * (step['ratio'] - 1):+.1f} %",
        "" if predicted is None else f"{100 * predicted:+.1f} %",
    )
