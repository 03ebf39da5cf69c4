"""Arguments of fx nodes as `ir` arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from hiremate_gen.errors import UnsupportedError
from hiremate_gen.ir import Arg, Device, Literal


def argument(value: Any, of_node: Callable[[fx.Node], Arg]) -> Arg:
    """`value` with nodes as references and everything else as the Python source that makes it."""
    if isinstance(value, fx.Node):
        return of_node(value)
    if isinstance(value, (list, tuple)):
        return tuple(argument(v, of_node) for v in value)
    if isinstance(value, torch.device):
        return Device()
    return Literal(source_of(value))


def source_of(value: Any) -> str:
    """Python source of a constant, with only `torch` in scope."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return repr(value)
    raise UnsupportedError(f"an op takes a {type(value).__name__} ({value!r}), which cannot be written as source")


def idle(name: str, value: Any) -> bool:
    """Whether a keyword says what goes without saying."""
    return name == "pin_memory" and not value
