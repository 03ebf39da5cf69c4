"""The text that identifies an op's cost: target, shapes, strides, dtypes and literals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor


def signature(target: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """`aten.mm.default(float32[4,8]{8,1}, float32[8,2]{2,1})`; equal for calls that cost the same."""
    parts = [text(a) for a in args] + [f"{name}={text(kwargs[name])}" for name in sorted(kwargs)]
    return f"{target}({', '.join(parts)})"


def text(value: object) -> str:
    """One argument; devices are left out, a profile belongs to one."""
    if isinstance(value, Tensor):
        shape, stride = (",".join(str(int(n)) for n in ns) for ns in (value.shape, value.stride()))
        lazy = "*" if value.is_complex() and value.is_conj() else ""
        return f"{str(value.dtype).removeprefix('torch.')}[{shape}]{{{stride}}}{lazy}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(text(v) for v in value)}]"
    return "device" if type(value).__name__ == "device" else repr(value)
