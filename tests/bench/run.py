"""The benchmark: prints tables, writes JSON.  `python tests/bench/run.py --help`; CONTRIBUTING.md says more.

Rows that are in the JSON file already stay there unless they are run again, so that it can be run in parts.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import tempfile
from pathlib import Path
from typing import Any

import click
import zoo
from measured import compare, show_real
from processes import job
from rich.console import Console
from tables import show_scale, show_zoo

CONSOLE = Console(width=200)


@click.command()
@click.option("--rows", default="", metavar="NAMES", help="Which, by comma: zoo/gpt-2, scale/gpt-48, real/gpt; or zoo.")
@click.option("--quick", is_flag=True, help="Two budgets, ten seconds for checkmate, no rows of scale.")
@click.option("--limit", default=60.0, show_default=True, metavar="SECONDS", help="For checkmate, each budget.")
@click.option("--threads", default=2, show_default=True, help="Of torch, for the rows of real.")
@click.option("-o", "--output", default="bench.json", show_default=True, metavar="FILE")
def main(rows: str, quick: bool, limit: float, threads: int, output: str) -> None:
    """Run the rows, one process at a time."""
    content = json.loads(Path(output).read_text("utf-8")) if Path(output).exists() else {}
    content["versions"] = _versions()
    kinds = {"zoo": zoo.ZOO, "scale": () if quick else zoo.SCALE, "real": zoo.REAL}
    for kind, known in kinds.items():
        done = content.setdefault(kind, {})
        for row in known:
            if rows and not {kind, f"{kind}/{row.name}"} & set(rows.split(",")):
                continue
            with tempfile.TemporaryDirectory() as folder, CONSOLE.status(f"{kind}/{row.name}"):
                if kind == "zoo":
                    done[row.name] = plans(row, Path(folder), 10.0 if quick else limit, quick)
                elif kind == "scale":
                    done[row.name] = scale(row, Path(folder))
                else:
                    done[row.name] = compare(row, Path(folder), threads, quick)
            Path(output).write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    for show, kind in ((show_zoo, "zoo"), (show_scale, "scale"), (show_real, "real")):
        if content[kind]:
            show(CONSOLE, content[kind])


def plans(row: zoo.Row, folder: Path, limit: float, quick: bool) -> dict[str, Any]:
    """Every strategy at every budget, and at the smallest that ours has."""
    graph = str(folder / "graph")
    facts = _trace(row, graph)
    ours = job("plans.py", "plan", graph, "hiremate", "300", json.dumps(["minimum"]))
    least = ours["plans"][0]["least_bytes"]
    budgets = _budgets(ours["peak_bytes"], least, zoo.QUICK if quick else zoo.BUDGETS)
    asked = json.dumps([*budgets, least - 1])  # the last: whether anything fits where ours does not
    found = {"hiremate": job("plans.py", "plan", graph, "hiremate", "300", asked)}
    for name in row.peers:
        found[name] = job("plans.py", "plan", graph, name, str(limit), asked)
    for name, content in found.items():
        below = content["plans"].pop()
        assert name != "hiremate" or "overhead" not in below
        content["below"] = below
    return {**facts, "peak_bytes": ours["peak_bytes"], "least_bytes": least, "limit_s": limit, "strategies": found}


def _budgets(peak: int, least: int, count: int) -> list[int]:
    """From high to low, evenly, and the smallest."""
    low = max(int(zoo.LOW * peak), least)
    high = max(int(zoo.HIGH * peak), (low + peak) // 2)
    return sorted({*(high - (high - low) * k // (count - 1) for k in range(count)), least}, reverse=True)


def scale(row: zoo.Row, folder: Path) -> dict[str, Any]:
    """Time and memory of one plan, at 60 %."""
    graph = str(folder / "graph")
    return {**_trace(row, graph), **job("plans.py", "plan", graph, "hiremate", "300", json.dumps([0.6]))}


def _trace(row: zoo.Row, graph: str) -> dict[str, Any]:
    return job("plans.py", "trace", str(row.path), row.model or "", json.dumps(row.inputs), graph)


def _versions() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        **{p: importlib.metadata.version(p) for p in ("torch", "highspy", "cvxpy")},
    }


if __name__ == "__main__":
    main()
