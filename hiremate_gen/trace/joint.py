"""The joint graph by torch.export and AOTAutograd.

Export first: it records the user's source lines and module paths on every node; AOTAutograd then adds the backward
ops, each tied to its forward op by `seq_nr`.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx.traceback
from torch import fx, nn
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch.utils import _pytree as pytree

from hiremate_gen.errors import UnsupportedError
from hiremate_gen.trace.contract import digest, result_source, unset
from hiremate_gen.trace.kernels import eager_kernels
from hiremate_gen.trace.refusals import Shown, explain, quiet, refuse_unknown_shapes


@dataclass(frozen=True)
class Leaf:
    """One leaf of what the model returns: a tensor, or the value `constant`.

    `differentiable` tells whether the plan expects a gradient for it.
    """

    index: int
    constant: Any
    is_tensor: bool
    differentiable: bool


@dataclass(frozen=True)
class Traced:
    """The joint graph with what is needed to read it.

    `graph_module` takes primals and tangents (described by `meta["desc"]`) and returns mutated buffers, outputs in
    the order of the tensor `leaves`, then gradients of the primals.  `structure` is the pytree that `leaves` fill.
    """

    graph_module: fx.GraphModule
    leaves: tuple[Leaf, ...]
    structure: pytree.TreeSpec
    input_paths: tuple[str, ...]  # for each flat example input: Python text, as "idx" or "batch['x']"
    fixed: tuple[tuple[str, str], ...]  # inputs that are no tensors: source text, and of the value planned for
    constants: dict[str, torch.Tensor]  # tensors that are neither parameters nor buffers, by buffer-like name
    elements: int  # of all parameters
    digest: str  # of their names, shapes, dtypes and requires_grad

    @property
    def leaf_constants(self) -> tuple[str | None, ...]:
        """For each leaf that the model returns: None for a tensor, else its source text."""
        return tuple(None if leaf.is_tensor else repr(leaf.constant) for leaf in self.leaves)

    def result_source(self, leaves: Sequence[str]) -> str:
        """Source of what the model returns, given the source of its leaves."""
        return result_source(self.structure, leaves)

    def text(self) -> str:
        """For --dump trace."""
        return str(self.graph_module.print_readable(print_output=False)) + "\n"


def trace(
    model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], names: tuple[str, ...], shown: Shown = str
) -> Traced:
    """Trace one training step of `model` on example inputs (real or fake, as the model is).

    `names` are the parameters of the model's forward; `shown` names the user's files in errors.  Raises
    UnsupportedError, with the user's line, where the model cannot be traced.
    """
    try:
        with eager_kernels(), quiet():
            graph_module, leaves, structure, constants = _joint(model, args, kwargs, shown)
    except Exception as error:
        raise explain(error, shown) from error
    if not isinstance(graph_module, fx.GraphModule):
        raise UnsupportedError("torch handed back no graph for this model")
    paths, inputs = _input_paths(args, kwargs, names)
    fixed = [(p, repr(v)) for p, v in zip(paths, inputs, strict=True) if not isinstance(v, torch.Tensor)]
    fixed += unset(model, args, kwargs)
    return Traced(graph_module, leaves, structure, paths, tuple(fixed), constants, *digest(model))


def _joint(
    model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], shown: Shown
) -> tuple[Any, tuple[Leaf, ...], pytree.TreeSpec, dict[str, torch.Tensor]]:
    program = torch.export.export(model, args, kwargs, strict=False)
    refuse_unknown_shapes(program.graph, shown)
    exported = program.module()
    constants = _constants_as_buffers(exported, program.constants)
    leaves, structure = _plan_for_the_loss(exported, _trained(model))
    with contextlib.ExitStack() as stack, torch.fx.traceback.preserve_node_meta():
        joint = aot_export_joint_with_descriptors(stack, exported, args, kwargs, decompositions=None)
        return joint.graph_module, leaves, structure, constants


def _constants_as_buffers(exported: fx.GraphModule, constants: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Let tensors on plain attributes enter as inputs: AOTAutograd refuses real tensors inside a fake trace."""
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


def _plan_for_the_loss(exported: fx.GraphModule, trained: set[str]) -> tuple[tuple[Leaf, ...], pytree.TreeSpec]:
    """Detach every output that no gradient is planned for: a tangent would cost a tensor of zeros and an add."""
    output = next(n for n in exported.graph.nodes if n.op == "output")
    flat = list(pytree.tree_leaves(output.args[0], is_leaf=lambda x: x is None))
    structure = exported.graph._codegen.pytree_info.out_spec  # type: ignore[attr-defined]
    assert structure is not None
    live = _requiring_grad(exported, trained)
    wanted = _differentiable(flat, live, structure)
    leaves = []
    for index, node in enumerate(flat):
        is_tensor = isinstance(node, fx.Node) and isinstance(node.meta.get("val"), torch.Tensor)
        leaves.append(Leaf(index, None if is_tensor else node, is_tensor, index in wanted))
        if is_tensor and index not in wanted:
            with exported.graph.inserting_before(output):
                detached = exported.graph.call_function(torch.ops.aten.detach.default, (node,))
            detached.meta = copy.copy(node.meta)
            flat[index] = detached
    output.args = (tuple(flat),)
    exported.recompile()
    return tuple(leaves), structure


def _trained(model: nn.Module) -> set[str]:
    """Paths of the parameters that want gradients, each of a tied parameter's paths included."""
    return {n for n, p in model.named_parameters(remove_duplicate=False) if p.requires_grad}


def _requiring_grad(exported: fx.GraphModule, trained: set[str]) -> set[fx.Node]:
    """Nodes that a trained parameter or an input that requires a gradient flows into."""
    live: set[fx.Node] = set()
    for node in exported.graph.nodes:
        value = node.meta.get("val")
        if node.op == "get_attr":
            found = str(node.target) in trained
        elif node.op == "placeholder":
            found = isinstance(value, torch.Tensor) and value.requires_grad
        else:
            cut = node.target in (torch.ops.aten.detach.default, torch.ops.aten.detach_.default)
            found = not cut and any(n in live for n in node.all_input_nodes)
        if found:
            live.add(node)
    return live


def _differentiable(flat: list[Any], live: set[fx.Node], structure: pytree.TreeSpec) -> frozenset[int]:
    """Leaves that the plan expects a gradient for: the scalar losses, else every floating-point output.

    Of outputs with names (a named tuple) and no scalar among them the first stands for all, as trainers use them.
    """
    floating = []
    for index, node in enumerate(flat):
        value = node.meta.get("val") if node in live else None
        if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
            floating.append(index)
    scalars = [i for i in floating if flat[i].meta["val"].ndim == 0]
    if scalars:
        return frozenset(scalars)
    return frozenset(floating[:1] if pytree.is_namedtuple_class(structure.type) else floating)


def _input_paths(
    args: tuple[Any, ...], kwargs: dict[str, Any], names: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    paths, leaves = [], []
    named = dict(zip(names, args, strict=False)) | kwargs
    for name, value in named.items():
        for path, leaf in pytree.tree_flatten_with_path(value, is_leaf=lambda x: x is None)[0]:
            paths.append(name + pytree.keystr(path))
            leaves.append(leaf)
    return tuple(paths), tuple(leaves)
