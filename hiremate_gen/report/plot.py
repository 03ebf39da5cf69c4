"""Numbers to the shapes of an SVG: scales, ticks, steps.  Coordinates have one decimal: equal plans, equal text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 960, 340  # of a plot, in its own units
LEFT, RIGHT, TOP, BOTTOM = 76, 16, 42, 46  # margins for words


@dataclass(frozen=True, slots=True)
class Frame:
    """From data to a plot's coordinates: x from `x0` to `x1`, y from 0 to `y1`."""

    x0: float
    x1: float
    y1: float

    def x(self, value: float) -> float:
        """Rightwards."""
        inner = WIDTH - LEFT - RIGHT
        return round(LEFT + inner * (value - self.x0) / ((self.x1 - self.x0) or 1), 1)

    def y(self, value: float) -> float:
        """Downwards from the top."""
        inner = HEIGHT - TOP - BOTTOM
        return round(TOP + inner * (1 - value / (self.y1 or 1)), 1)


def steps(frame: Frame, spans: Iterable[tuple[float, float, float]]) -> str:
    """The path over (from, to, height): the highest of what falls into half a unit of width."""
    columns: dict[float, float] = {}
    for start, end, height in spans:
        for x in {math.floor(2 * frame.x(start)) / 2, math.floor(2 * frame.x(end)) / 2}:
            columns[x] = max(columns.get(x, 0.0), height)
    path, before = [], None
    for x in sorted(columns):
        y = frame.y(columns[x])
        if y != before:
            path.append(f"{'M' if before is None else 'H'}{x:g}{f' {y:g}' if before is None else f'V{y:g}'}")
            before = y
    return "".join(path) + (f"H{max(columns):g}" if columns else "")


def line(frame: Frame, points: Sequence[tuple[float, float]]) -> str:
    """The path through points."""
    return "".join(f"{'L' if n else 'M'}{frame.x(x):g} {frame.y(y):g}" for n, (x, y) in enumerate(points))


def ticks(top: float, base: int, count: int = 5) -> list[float]:
    """Round numbers from 0 to at most `top`; `base` 1024 for bytes, 1000 for all else."""
    if top <= 0:
        return [0.0]
    unit = float(base) ** math.floor(math.log(top, base))
    nice = [m * 10**e * unit for e in range(-4, 4) for m in (1, 2, 2.5, 5)]
    step = next(s for s in nice if top / s <= count)
    return [step * n for n in range(int(top / step) + 1)]
