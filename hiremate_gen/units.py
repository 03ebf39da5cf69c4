"""Bytes and seconds as people write them."""

from __future__ import annotations

import re

_FACTORS = {"": 1, "B": 1}
_FACTORS |= {f"{p}iB": 1024 ** (i + 1) for i, p in enumerate("KMGT")}
_FACTORS |= {f"{p}B": 1000 ** (i + 1) for i, p in enumerate("KMGT")}
_SPELLING = {key.lower(): factor for key, factor in _FACTORS.items()}


def parse_size(text: str) -> int | float:
    """`6GiB`, `1.5GB`, `4096` as bytes (int); `60%` as a fraction (float).

    Raises ValueError when the text is neither, or not above zero.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(%|[a-zA-Z]*)", text.strip())
    if match is None or (match[2] != "%" and match[2].lower() not in _SPELLING):
        raise ValueError(f"{text!r} is not a size: write 6GiB, 512MiB, 1.5GB, plain bytes, or 60% of eager's peak")
    number = float(match[1])
    if number <= 0:
        raise ValueError(f"{text!r} is not above zero")
    return number / 100 if match[2] == "%" else int(number * _SPELLING[match[2].lower()])


def show_bytes(count: int) -> str:
    """Binary units with one decimal: 4096 -> '4.0 KiB'."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{int(size)} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
