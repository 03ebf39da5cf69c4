"""The joint graph of the module itself, without torch.export: fewer source positions, but custom autograd Functions
keep their own backward."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import torch
import torch.fx.traceback
from torch import fx, nn
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch.utils import _pytree as pytree

from hiremate_gen.trace.leaves import Leaf, differentiable
from hiremate_gen.trace.refusals import no_inner_gradients


def direct_joint(
    model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[fx.GraphModule, tuple[Leaf, ...], pytree.TreeSpec]:
    """As `exported_joint`, from a copy of the module whose forward hands back tensors alone."""
    with no_inner_gradients():
        flat, structure = pytree.tree_flatten(model(*args, **kwargs))
    tensors = [isinstance(v, torch.Tensor) for v in flat]
    floating = [i for i, v in enumerate(flat) if tensors[i] and v.requires_grad]
    wanted = differentiable({i: flat[i] for i in floating}, structure)
    leaves = tuple(
        Leaf(None if t else v, t, i in wanted, t and v.is_floating_point() and not v.requires_grad)
        for i, (v, t) in enumerate(zip(flat, tensors, strict=True))
    )
    with contextlib.ExitStack() as stack, torch.fx.traceback.preserve_node_meta():
        step = _tensors_only(model, wanted)
        graph_module = aot_export_joint_with_descriptors(stack, step, args, kwargs, decompositions=None).graph_module
    assert isinstance(graph_module, fx.GraphModule)
    return graph_module, leaves, structure


def _tensors_only(model: nn.Module, wanted: frozenset[int]) -> nn.Module:
    """`model` with outputs that no gradient is planned for detached, and None in place of what is no tensor."""
    step = copy.copy(model)
    forward = model.forward

    def flat_forward(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        with no_inner_gradients():
            flat = pytree.tree_leaves(forward(*args, **kwargs), is_leaf=lambda x: x is None)
        return tuple(
            None if not isinstance(v, torch.Tensor) else v if i in wanted else v.detach() for i, v in enumerate(flat)
        )

    step.forward = flat_forward
    return step
