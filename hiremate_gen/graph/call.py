"""One ATen call as the cost models see it: arguments by their schema names, tensors as shapes and strides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves


@dataclass(frozen=True, slots=True)
class Call:
    """`name` is the op without namespace and overload ("addmm"), `given` maps schema names to arguments."""

    name: str
    op: Any
    given: Mapping[str, Any]
    outputs: tuple[Tensor | None, ...]

    def tensor(self, name: str) -> Tensor:
        value = self.given[name]
        assert isinstance(value, Tensor), f"{self.name}: {name} is not a tensor"
        return value

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tensors(self.given.values())

    @property
    def out(self) -> Tensor:
        """The first output that is a tensor."""
        return next(t for t in self.outputs if t is not None)

    @property
    def pointwise(self) -> bool:
        return torch.Tag.pointwise in self.op.tags


def bind(target: str, args: Sequence[Any], kwargs: Mapping[str, Any], outputs: object) -> Call:
    """Read a call from a target ("aten.addmm.default") and arguments with `meta["val"]` in place of nodes.

    Raises AttributeError when torch has no such op.
    """
    op = resolve(target)
    given: dict[str, Any] = {}
    for at, argument in enumerate(op._schema.arguments):
        if at < len(args):
            given[argument.name] = args[at]
        elif argument.name in kwargs:
            given[argument.name] = kwargs[argument.name]
        else:
            given[argument.name] = argument.default_value if argument.has_default_value() else None
    flat = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    return Call(op._schema.name.split("::")[1], op, given, tuple(t if isinstance(t, Tensor) else None for t in flat))


def resolve(target: str) -> Any:
    """The torch op of a target such as "aten.addmm.default"."""
    namespace, name, overload = target.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload)


def tensors(values: Iterable[object]) -> tuple[Tensor, ...]:
    """Every tensor inside the values, in order."""
    return tuple(t for t in tree_leaves(list(values)) if isinstance(t, Tensor))


def nbytes(t: Tensor) -> int:
    """Bytes of the elements, were they stored densely."""
    return numel(t) * t.element_size()


def numel(t: Tensor) -> int:
    return prod(int(n) for n in t.shape)


def storage_bytes(t: Tensor) -> int:
    return int(t.untyped_storage().nbytes())


def channels_last(t: Tensor) -> bool:
    """Whether the tensor lies channels-last and not in the ordinary order as well."""
    if t.is_contiguous():
        return False
    return (t.ndim == 4 and t.is_contiguous(memory_format=torch.channels_last)) or (
        t.ndim == 5 and t.is_contiguous(memory_format=torch.channels_last_3d)
    )


SQUARE = 60 * 60  # elements of the buffer that turns a matrix


def copied(t: Tensor) -> int:
    """Bytes of the dense copy that a kernel makes of an input that lies in no dense order (0: it needs none).

    A large matrix is turned in squares, by way of a buffer.
    """
    if t.is_contiguous() or channels_last(t):
        return 0
    turned = t.ndim == 2 and t.stride(0) == 1 and t.stride(1) == t.shape[0] and numel(t) >= SQUARE
    return nbytes(t) + (SQUARE * t.element_size() if turned else 0)


def low_precision(t: Tensor) -> bool:
    return t.dtype in (torch.bfloat16, torch.float16)
