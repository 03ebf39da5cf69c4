"""A time limit on code that is not ours."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OutOfTime(BaseException):
    """Not an Exception: `except Exception` in the user's code must not swallow it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the code inside after `seconds`, and again each second until it stops."""
    usable = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    with _alarm(seconds) if usable else _watchdog(seconds, threading.get_ident()):
        yield


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _watchdog(seconds: float, thread: int) -> Iterator[None]:
    """Where no signal arrives: another thread raises it in ours, between two bytecodes."""
    done = threading.Event()

    def watch() -> None:
        wait = seconds
        while not done.wait(wait):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(OutOfTime))
            wait = 1.0

    watcher = threading.Thread(target=watch, daemon=True, name="hiremate-gen import limit")
    watcher.start()
    try:
        yield
    finally:
        done.set()
