"""Sizes as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hiremate_gen.units import parse_size, show_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("6GiB", 6 * 2**30),
        ("512MiB", 2**29),
        ("1.5GB", 1_500_000_000),
        ("1 kb", 1000),
        ("4096", 4096),
        ("4096B", 4096),
        (" 2TiB ", 2**41),
    ],
)
def test_bytes(text: str, size: int) -> None:
    assert parse_size(text) == size and isinstance(parse_size(text), int)


def test_percent_is_a_fraction() -> None:
    assert parse_size("60%") == 0.6 and parse_size("100 %") == 1.0


@pytest.mark.parametrize("text", ["", "GiB", "6Gigs", "-1", "1e9", "0", "0%", "nan", "6 Gi B", "٣GiB"])
def test_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_size(text)


@given(st.integers(1, 2**50))
def test_plain_bytes_are_exact(count: int) -> None:
    assert parse_size(str(count)) == count


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (1023, "1023 B"), (4096, "4.0 KiB"), (3 * 2**40, "3.0 TiB")])
def test_show(count: int, text: str) -> None:
    assert show_bytes(count) == text
