"""A table for people, before it is known where they will read it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """`right` are the numbers of the columns that are set flush right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()


def plain(tables: Iterable[Table]) -> str:
    """Titles, then columns of equal width; an empty line between tables."""
    return "\n".join("\n".join([table.title, *_lines(table), ""]) for table in tables)


def _lines(table: Table) -> list[str]:
    rows = [table.columns, *table.rows] if table.columns else []
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]
    return [
        ("  " + "  ".join(_cell(cell, widths[i], i in table.right) for i, cell in enumerate(row))).rstrip()
        for row in rows
    ]


def _cell(text: str, width: int, right: bool) -> str:
    return text.rjust(width) if right else text.ljust(width)
