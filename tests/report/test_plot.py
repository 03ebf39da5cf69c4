"""Scales, ticks and steps of the plots, and tables as plain text."""

from __future__ import annotations

import pytest

from hiremate_gen.ir.table import Table, plain
from hiremate_gen.report.plot import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Frame, line, steps, ticks


def test_frame() -> None:
    frame = Frame(10.0, 20.0, 4.0)
    assert (frame.x(10), frame.x(20)) == (LEFT, WIDTH - RIGHT)
    assert (frame.y(0), frame.y(4)) == (HEIGHT - BOTTOM, TOP)
    assert Frame(3.0, 3.0, 0.0).x(3) == LEFT  # nothing to divide by


@pytest.mark.parametrize(
    ("top", "base", "expected"),
    [
        (10.0, 1000, [0, 2, 4, 6, 8, 10]),
        (0.37, 1000, [0, 0.1, 0.2, 0.3]),
        (90 * 2**20, 1024, [0, 20 * 2**20, 40 * 2**20, 60 * 2**20, 80 * 2**20]),
        (1.0, 1024, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.0, 1000, [0]),
    ],
)
def test_ticks(top: float, base: int, expected: list[float]) -> None:
    assert ticks(top, base) == pytest.approx(expected)


def test_steps_keep_the_highest_of_a_column() -> None:
    frame = Frame(0.0, 1.0, 10.0)
    thin = [(k / 100_000, (k + 1) / 100_000, 9.0 if k == 50_000 else 1.0) for k in range(100_000)]
    path = steps(frame, thin)
    assert path.startswith(f"M{LEFT} {frame.y(1):g}H") and f"V{frame.y(9):g}H" in path and len(path) < 100
    assert path.endswith(f"H{WIDTH - RIGHT}")
    assert line(frame, [(0, 0), (1, 10)]) == f"M{LEFT} {HEIGHT - BOTTOM}L{WIDTH - RIGHT} {TOP}"


def test_plain_tables() -> None:
    tables = [Table("Head", (), ()), Table("T", ("n", "name"), (("1", "a"), ("22", "bc")), frozenset({0}))]
    assert plain(tables) == "Head\n\nT\n   n  name\n   1  a\n  22  bc\n"
