"""HiGHS 1.16 writes a banner to standard output, once a process, when the first solver is made.  A generated file may
be going there (`-o -`), so the first solver is made with standard output closed."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import highspy


@cache
def hush() -> None:
    """Make and forget a first solver, its words unheard."""
    with silence():
        highspy.Highs()  # type: ignore[no-untyped-call]


@contextmanager
def silence() -> Iterator[None]:
    """Nothing that C code writes to standard output is heard.  Does nothing where there is no standard output."""
    try:
        kept = os.dup(1)
    except OSError:
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        _flush()
        os.dup2(nowhere, 1)
        yield
        _flush()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _flush() -> None:
    """Empty C's buffers, which Python's do not know of."""
    try:
        ctypes.CDLL(None).fflush(None)
    except (OSError, TypeError, AttributeError):  # not a platform where the C library is found like this
        return
