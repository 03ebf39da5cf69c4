"""Tensors that are neither parameters nor buffers: on plain attributes, or made from Python values in forward."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensor

from hiremate_gen.errors import UnsupportedError

LARGEST = 64  # elements that are written out as source


@contextmanager
def attributes_as_buffers(model: nn.Module) -> Iterator[None]:
    """Fake tensors on plain attributes are buffers inside: torch.export takes those alone over into its own mode."""
    moved: list[tuple[nn.Module, str, torch.Tensor]] = []
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, FakeTensor):
                del vars(module)[name]
                module.register_buffer(name, value, persistent=False)
                moved.append((module, name, value))
    try:
        yield
    finally:
        for module, name, value in moved:
            module._buffers.pop(name, None)
            module._non_persistent_buffers_set.discard(name)
            vars(module)[name] = value


def constants_as_buffers(exported: fx.GraphModule, constants: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Let them enter the graph as inputs: AOTAutograd refuses real tensors inside a fake trace."""
    found = {}
    for name, value in constants.items():
        if isinstance(value, torch.Tensor):
            *path, leaf = name.split(".")
            owner = exported.get_submodule(".".join(path))
            if leaf not in owner._buffers:
                delattr(owner, leaf)
                owner.register_buffer(leaf, value, persistent=False)
            found[name] = value
    return found


def sources(model: nn.Module, constants: dict[str, torch.Tensor]) -> dict[str, str]:
    """Source text of those that are no attribute of the model.  Raises UnsupportedError for large ones."""
    return {name: _source(value) for name, value in constants.items() if not _is_attribute(model, name)}


def _is_attribute(model: nn.Module, path: str) -> bool:
    found: Any = model
    for name in path.split("."):
        found = getattr(found, name, None)
    return isinstance(found, torch.Tensor)


def _source(tensor: torch.Tensor) -> str:
    value = tensor.constant if isinstance(tensor, FakeTensor) else tensor
    if value is None or value.numel() > LARGEST:
        raise UnsupportedError(
            f"forward makes a tensor of {tensor.numel()} elements from Python values",
            hint="make it once, in the constructor, with register_buffer",
        )
    return f"torch.tensor({value.tolist()}, dtype={value.dtype})"
