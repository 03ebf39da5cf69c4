"""`module.to(...)`, `.half()`, `.double()` on parameters that are fake.

torch changes what is inside of a parameter, which fake tensors refuse; here a new parameter takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch


@contextmanager
def replacing() -> Iterator[None]:
    """Conversions of modules replace their tensors.  A parameter that several modules share stays one."""
    known: dict[torch.Tensor, torch.nn.Parameter] = {}
    depth = 0

    def apply(self: Any, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Any:
        nonlocal depth
        depth += 1
        for child in self.children() if recurse else ():
            child._apply(fn)
        for name, old in self._parameters.items():
            if old is not None:
                known.setdefault(old, torch.nn.Parameter(fn(old.detach()), old.requires_grad))
                self._parameters[name] = known[old]
        for name, old in self._buffers.items():
            if old is not None:
                self._buffers[name] = fn(old)
        depth -= 1
        if not depth:  # what is shared is so within one conversion
            known.clear()
        return self

    with mock.patch.object(torch.nn.Module, "_apply", apply):
        yield
