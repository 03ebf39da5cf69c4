"""The joint graph by torch.export and AOTAutograd.

Export records the user's source lines and module paths on every node; AOTAutograd then adds the backward ops, each
tied to its forward op by `seq_nr`.
"""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import torch
import torch.fx.traceback
from torch import fx, nn
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch.utils import _pytree as pytree

from hiremate_gen.trace.constants import attributes_as_buffers, constants_as_buffers
from hiremate_gen.trace.leaves import Leaf, differentiable
from hiremate_gen.trace.refusals import Shown, no_inner_gradients, refuse_unknown_shapes


def exported_joint(
    model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], shown: Shown
) -> tuple[fx.GraphModule, tuple[Leaf, ...], pytree.TreeSpec, dict[str, torch.Tensor]]:
    """The joint graph, what the model returns, and tensors that are neither parameters nor buffers."""
    with attributes_as_buffers(model), no_inner_gradients():
        program = torch.export.export(model, args, kwargs, strict=False)
    refuse_unknown_shapes(program.graph, shown)
    exported = program.module()
    constants = constants_as_buffers(exported, program.constants)
    leaves, structure = _plan_for_the_loss(exported, _trained(model))
    with contextlib.ExitStack() as stack, torch.fx.traceback.preserve_node_meta():
        joint = aot_export_joint_with_descriptors(stack, exported, args, kwargs, decompositions=None)
        assert isinstance(joint.graph_module, fx.GraphModule)
        return joint.graph_module, leaves, structure, constants


def _plan_for_the_loss(exported: fx.GraphModule, trained: set[str]) -> tuple[tuple[Leaf, ...], pytree.TreeSpec]:
    """Detach every output that no gradient is planned for: a tangent would cost a tensor of zeros and an add."""
    output = next(n for n in exported.graph.nodes if n.op == "output")
    flat = list(pytree.tree_leaves(output.args[0], is_leaf=lambda x: x is None))
    structure = exported.graph._codegen.pytree_info.out_spec  # type: ignore[attr-defined]
    assert structure is not None
    live = _requiring_grad(exported, trained)
    values = [n.meta.get("val") if isinstance(n, fx.Node) else None for n in flat]
    tensors = {i: v for i, v in enumerate(values) if isinstance(v, torch.Tensor)}
    wanted = differentiable({i: v for i, v in tensors.items() if flat[i] in live}, structure)
    still = {i for i, v in tensors.items() if v.is_floating_point() and flat[i] not in live}
    leaves = tuple(Leaf(None if i in tensors else n, i in tensors, i in wanted, i in still) for i, n in enumerate(flat))
    for index in tensors.keys() - wanted:
        with exported.graph.inserting_before(output):
            detached = exported.graph.call_function(torch.ops.aten.detach.default, (flat[index],))
        detached.meta = copy.copy(flat[index].meta)
        flat[index] = detached
    output.args = (tuple(flat),)
    exported.recompile()
    return leaves, structure


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
            found = not _cuts(node) and any(n in live for n in node.all_input_nodes)
        if found:
            live.add(node)
    return live


def _cuts(node: fx.Node) -> bool:
    """Whether no gradient comes back through a node: what stands under `no_grad` is a graph of its own."""
    no_grad = node.target is torch.ops.higher_order.wrap_with_set_grad_enabled and node.args[0] is False
    return no_grad or node.target in (torch.ops.aten.detach.default, torch.ops.aten.detach_.default)
