"""One training step of a module as a joint graph, by the first of two ways that serves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn
from torch.utils import _pytree as pytree

from hiremate_gen.trace.constants import sources
from hiremate_gen.trace.contract import (
    digest,
    leaf_paths,
    named_arguments,
    open_ended,
    result_source,
    shared,
    unset,
)
from hiremate_gen.trace.direct import direct_joint
from hiremate_gen.trace.exported import exported_joint
from hiremate_gen.trace.kernels import eager_kernels
from hiremate_gen.trace.leaves import Leaf
from hiremate_gen.trace.refusals import Shown, explain, quiet, refuse_untrained
from hiremate_gen.trace.settings import Values, plain, reads, steady
from hiremate_gen.trace.strides import eager_strides

WAYS = ("export", "direct")


@dataclass(frozen=True)
class Traced:
    """The joint graph with what is needed to read it.

    `graph_module` takes primals and tangents (described by `meta["desc"]`) and returns mutated buffers, outputs in
    the order of the tensor `leaves`, then gradients of the primals.  `structure` is the pytree that `leaves` fill.
    """

    way: str
    graph_module: fx.GraphModule
    leaves: tuple[Leaf, ...]
    structure: pytree.TreeSpec
    input_paths: tuple[str, ...]  # for each flat example input: Python text, as "idx" or "batch['x']"
    fixed: tuple[tuple[str, str], ...]  # inputs that are no tensors: source text, and of the value planned for
    constants: dict[str, str]  # source text of tensors that forward makes from Python values, by name in the graph
    settings: tuple[str, ...]  # names of plain attributes of modules that forward reads
    elements: int  # of all parameters
    digest: str  # of parameters' names, shapes, dtypes and requires_grad, of settings' values
    shared: frozenset[str]  # paths of parameters and buffers that lie in the memory of others

    @property
    def leaf_constants(self) -> tuple[str | None, ...]:
        """For each leaf that the model returns: None for a tensor, else its source text."""
        return tuple(None if leaf.is_tensor else repr(leaf.constant) for leaf in self.leaves)

    @property
    def detached(self) -> frozenset[int]:
        """Leaves that take no gradient though they could, by index."""
        return frozenset(i for i, leaf in enumerate(self.leaves) if leaf.detached)

    @property
    def leaf_paths(self) -> tuple[str, ...]:
        """Where each leaf stands in what the model returns: `[1]`, `['logits']`."""
        return leaf_paths(self.structure)

    def result_source(self, leaves: Sequence[str]) -> str:
        """Source of what the model returns, given the source of its leaves."""
        return result_source(self.structure, leaves)

    def text(self) -> str:
        """For --dump trace."""
        return str(self.graph_module.print_readable(print_output=False)) + "\n"


def trace(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    shown: Shown = str,
    way: str = "export",
    fresh: Values | None = None,
) -> Traced:
    """Trace one training step of `model` on example inputs (real or fake, as the model is).

    `shown` names the user's files in errors; `way` is one of WAYS; `fresh` are the plain attributes of the model before
    its forward ever ran, where that was before.
    Raises UnsupportedError, with the user's line, where the model cannot be traced.
    """
    constants: dict[str, torch.Tensor] = {}
    fresh = plain(model) if fresh is None else fresh
    try:
        with reads(model) as names, eager_kernels(), eager_strides(), quiet():
            if way == "export":
                graph_module, leaves, structure, constants = exported_joint(model, args, kwargs, shown)
            else:
                graph_module, leaves, structure = direct_joint(model, args, kwargs)
    except Exception as error:
        raise explain(error, shown) from error
    refuse_untrained(leaves)
    paths, inputs = _input_paths(model, args, kwargs)
    fixed = [(p, repr(v)) for p, v in zip(paths, inputs, strict=True) if not isinstance(v, torch.Tensor)]
    fixed += [*unset(model, args, kwargs), *open_ended(model, args, kwargs)]
    made = sources(model, constants)
    settings = steady(names, fresh, plain(model))
    promised = (settings, *digest(model, settings))
    return Traced(way, graph_module, leaves, structure, paths, tuple(fixed), made, *promised, shared(model))


def _input_paths(
    model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """For each flat input its source text on the parameters of forward, and its value."""
    paths, leaves = [], []
    for name, value in named_arguments(model, args, kwargs):
        for path, leaf in pytree.tree_flatten_with_path(value, is_leaf=lambda x: x is None)[0]:
            paths.append(name + pytree.keystr(path))
            leaves.append(leaf)
    return tuple(paths), tuple(leaves)
