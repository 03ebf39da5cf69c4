"""One of two models that are trained side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map

Built = tuple[nn.Module, Sequence[Any], Mapping[str, Any]]  # model, positional and keyword inputs


@dataclass
class Side:
    """One of the two models, its inputs and its optimizer."""

    model: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    optimizer: torch.optim.Optimizer | None = field(init=False)

    def __post_init__(self) -> None:
        trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.SGD(trained, lr=1e-3, momentum=0.9) if trained else None

    @property
    def inputs(self) -> list[Tensor]:
        return [t for t in tree_leaves((self.args, self.kwargs)) if isinstance(t, Tensor)]

    @property
    def static(self) -> list[Tensor]:
        return [*self.model.parameters(), *self.model.buffers(), *self.inputs]

    def run(self) -> Any:
        return self.model(*self.args, **self.kwargs)

    def step(self) -> Any:
        """Forward and backward; the outputs."""
        out = self.run()
        backward(loss_of(out))
        return out

    def clear(self) -> None:
        self.model.zero_grad(set_to_none=True)
        for t in self.inputs:
            t.grad = None


def loss_of(out: object) -> Tensor:
    """What to call backward on: the scalar called "loss" or the first that needs a gradient, of a named tuple its
    first output, else the sum of each output's mean square.

    Raises ValueError when no output needs a gradient.
    """
    leaves = [t for t in tree_leaves(out) if isinstance(t, Tensor) and t.is_floating_point() and t.requires_grad]
    if not leaves:
        raise ValueError("no output needs a gradient: nothing to train")
    scalars = [t for t in leaves if t.ndim == 0]
    if scalars:
        called = out.get("loss") if isinstance(out, Mapping) else getattr(out, "loss", None)
        return next((t for t in scalars if t is called), scalars[0])
    used = leaves[:1] if hasattr(out, "_fields") else leaves
    return (
        torch.stack([t.float().pow(2).mean() for t in used]).sum() if len(used) > 1 else used[0].float().pow(2).mean()
    )


def backward(loss: Tensor) -> None:
    torch.autograd.backward(loss)


def make_side(built: Built, inputs: Side | None = None) -> Side:
    """A model with inputs of its own, equal to the other side's."""
    model, args, kwargs = built
    source = (args, kwargs) if inputs is None else (inputs.args, inputs.kwargs)
    own_args, own_kwargs = tree_map(_copy, (tuple(source[0]), dict(source[1])))
    return Side(model, own_args, own_kwargs)


def _copy(value: object) -> object:
    if not isinstance(value, Tensor):
        return value
    return value.detach().clone().requires_grad_(value.requires_grad)


def random_state(side: Side) -> list[Tensor]:
    devices = sorted({t.device.index for t in side.static if t.device.type == "cuda"})
    return [torch.get_rng_state(), *(torch.cuda.get_rng_state(d) for d in devices)]
