"""Tables of plans, and the rows in which something else is better than ours."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from zoo import PEERS

NEAR = 0.005  # of the step: how far from the optimum ours may be
SAME = 1e-6


def show_zoo(console: Console, rows: dict[str, Any]) -> None:
    """Overheads in percent of the step; an optimum that is certified has a star."""
    table = Table(title="predicted overhead, percent of the step")
    for column in ("model", "ops", "budget", "bound", "hiremate", "gap", "to optimum", *PEERS, "plan s", "MiB"):
        table.add_column(column, justify="right")
    notes, gaps, exact = [], [], []
    for name, row in rows.items():
        for p in PEERS:
            if "overhead" in row["strategies"].get(p, {}).get("below", {}):
                notes.append(
                    f"{name}: {p} has a plan below {row['least_bytes']} bytes, the smallest peak that ours has"
                )
        for k, ours in enumerate(row["strategies"]["hiremate"]["plans"]):
            at = f"{100 * ours['budget_bytes'] / row['peak_bytes']:.1f}"
            if "overhead" not in ours:
                notes.append(f"{name} at {at} %: hiremate has no plan")
                continue
            peers = {p: row["strategies"][p]["plans"][k] for p in PEERS if p in row["strategies"]}
            bound = max([ours["bound"], *(p["bound"] for p in peers.values() if "bound" in p)])
            gap = (1 + ours["overhead"]) / (1 + bound) - 1
            best = peers.get("checkmate", {})
            certified = best.get("status", "") == "optimal"
            away = ours["overhead"] - best["overhead"] if certified else None
            gaps.append(gap)
            exact += [away] if away is not None else []
            notes += list(_worse(f"{name} at {at} %", ours, peers))
            table.add_row(
                name, str(row["ops"]), at, f"{100 * bound:.2f}", f"{100 * ours['overhead']:.2f}", f"{100 * gap:.2f}",
                "" if away is None else f"{100 * away:.3f}", *(_cell(peers.get(p, {})) for p in PEERS),
                f"{ours['cpu_s']:.1f}", f"{row['strategies']['hiremate']['rss_bytes'] / 2**20:.0f}",
            )  # fmt: skip
    console.print(table)
    if gaps:
        console.print(f"gap to the bound: median {100 * statistics.median(gaps):.2f} %, most {100 * max(gaps):.2f} %")
    if exact:
        text = (
            f"{len(exact)} certified optima: mean {100 * statistics.mean(exact):.3f} %, most {100 * max(exact):.3f} %"
        )
        console.print(f"gap to {text} of the step")
    for note in notes:
        console.print(note, highlight=False)


def _worse(where: str, ours: dict[str, Any], peers: dict[str, Any]) -> Iterator[str]:
    for name, peer in peers.items():
        if "overhead" not in peer:
            continue
        behind = ours["overhead"] - peer["overhead"]
        if behind > SAME and (name != "checkmate" or behind > NEAR or peer["status"] != "optimal"):
            yield f"{where}: {name} {100 * peer['overhead']:.3f} is better than ours, {100 * ours['overhead']:.3f}"
        elif behind > SAME:
            yield f"{where}: {100 * behind:.3f} % of the step from the optimum"


def _cell(peer: dict[str, Any]) -> str:
    if "overhead" not in peer:
        return "-" if peer else ""
    star = "*" if peer["status"] == "optimal" else ""
    return f"{100 * peer['overhead']:.2f}{star}"


def show_scale(console: Console, rows: dict[str, Any]) -> None:
    """From partition to plan."""
    table = Table(title="one plan at 60 %")
    for column in ("model", "ops", "tracing s", "planning s", "processor s", "MiB", "overhead", "bound", "status"):
        table.add_column(column, justify="right")
    for name, row in rows.items():
        made = row["plans"][0]
        facts = [name, str(row["ops"]), f"{row['trace_s']:.1f}", f"{made['wall_s']:.1f}", f"{made['cpu_s']:.1f}"]
        facts.append(f"{row['rss_bytes'] / 2**20:.0f}")
        facts += [f"{100 * made[k]:.2f} %" if k in made else "none fits" for k in ("overhead", "bound")]
        table.add_row(*facts, made.get("status", ""))
    console.print(table)
