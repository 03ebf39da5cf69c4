"""Overhead against budget."""

from __future__ import annotations

from collections.abc import Sequence

from hiremate_gen.ir.table import Table
from hiremate_gen.report.subject import Budget
from hiremate_gen.units import show_bytes


def sweep_table(source_name: str, budgets: Sequence[Budget]) -> Table:
    """From the smallest budget that works to all that a step that keeps everything takes."""
    whole = budgets[-1].peak_bytes
    rows = tuple(
        (
            show_bytes(b.budget_bytes),
            f"{100 * b.budget_bytes / whole:.0f} %",
            show_bytes(b.peak_bytes),
            percent(b.overhead),
            "-" if b.least_overhead is None else percent(b.least_overhead),
        )
        for b in budgets
    )
    columns = ("budget", "of eager's", "peak", "overhead", "no schedule below")
    title = f"{source_name}: what each budget costs, from the smallest that works to keeping everything"
    return Table(title, columns, rows, frozenset(range(5)))


def percent(fraction: float) -> str:
    """`+4.2 %`; nothing is below zero."""
    return f"{100 * max(fraction, 0.0):+.1f} %"
