"""Keeps the tracer from replacing an op by others that round differently."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch._C import DispatchKey
from torch._ops import OpOverload

_KEYS = (DispatchKey.Autograd, DispatchKey.CompositeImplicitAutograd)
# Under a tracer these take a decomposition written in Python, whatever decompositions are asked for.  Dropout's and
# batch norm's give the bits of eager (tests/trace/test_kernels.py); interpolation's,
# these losses' and the recurrent layers' need not.
_FAMILIES = (
    *("upsample_", "_upsample_", "hardshrink", "softshrink", "multi_margin_loss", "multilabel_margin_loss"),
    *("gru", "lstm", "rnn_relu", "rnn_tanh"),
)


@contextmanager
def eager_kernels() -> Iterator[None]:
    """While inside, ops of `_FAMILIES` are traced as eager runs them."""
    taken: list[tuple[OpOverload, dict[DispatchKey, object]]] = []
    for name in dir(torch.ops.aten):
        if not name.startswith(_FAMILIES):
            continue
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads():
            op = getattr(packet, overload)
            taken.append((op, {k: op.py_kernels.pop(k) for k in _KEYS if k in op.py_kernels}))
            op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op, kernels in taken:
            op.py_kernels.update(kernels)  # type: ignore[arg-type]
            op._dispatch_cache.clear()
