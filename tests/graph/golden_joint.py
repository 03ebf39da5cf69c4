"""The ops of the golden models, as they will be run: one by one, with fake tensors for their values."""

from __future__ import annotations

import contextlib
import importlib.util
import operator
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch._C import DispatchKey
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch.fx.node import map_arg

from hiremate_gen.graph.measure import OpCall

GOLDEN = Path(__file__).parents[2] / "golden"
MODELS = ("mlp", "gpt", "llama", "resnet", "unet", "vit")


def load(case: str) -> ModuleType:
    """golden/<case>/model.py as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"golden_{case}", GOLDEN / case / "model.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def build(case: str) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
    """Model, positional and keyword inputs."""
    module = load(case)
    torch.manual_seed(0)
    if hasattr(module, "build_model"):
        model = module.build_model()
    else:
        classes = [c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__]
        model = [c for c in classes if issubclass(c, torch.nn.Module)][-1]()
    inputs = module.example_inputs()
    if isinstance(inputs, dict):
        return model, (), inputs
    return model, inputs if isinstance(inputs, tuple) else (inputs,), {}


@contextlib.contextmanager
def upsampling_kept() -> Iterator[None]:
    """torch's Python decomposition of upsampling rounds otherwise than its kernel: without it the kernel is traced."""
    names = [n for n in dir(torch.ops.aten) if n.startswith(("upsample_", "_upsample_"))]
    packets = [getattr(torch.ops.aten, n) for n in names]
    taken = []
    for op in [getattr(packet, o) for packet in packets for o in packet.overloads()]:
        for key in (DispatchKey.Autograd, DispatchKey.CompositeImplicitAutograd):
            if key in op.py_kernels:
                taken.append((op, key, op.py_kernels.pop(key)))
                op._dispatch_cache.clear()
    yield
    for op, key, kernel in taken:
        op.py_kernels[key] = kernel
        op._dispatch_cache.clear()


@cache
def calls(case: str) -> tuple[OpCall, ...]:
    """Every op of the model's joint graph but the unpacking of tuples."""
    model, args, kwargs = build(case)
    with upsampling_kept(), contextlib.ExitStack() as stack, torch.fx.traceback.preserve_node_meta():
        exported = torch.export.export(model, args, kwargs, strict=False)
        joint = aot_export_joint_with_descriptors(stack, exported.module(), args, kwargs, decompositions=None)
    nodes = [n for n in joint.graph_module.graph.nodes if n.op == "call_function" and "val" in n.meta]
    return tuple(_call(n) for n in nodes if n.target is not operator.getitem)


def _call(node: torch.fx.Node) -> OpCall:
    args, kwargs = (map_arg(part, lambda n: n.meta["val"]) for part in (node.args, node.kwargs))
    target, outputs = str(node.target), node.meta["val"]
    if target == "aten._native_batch_norm_legit_functional.default":
        args = (*args[:5], True, *args[6:])
        target, outputs = "aten.native_batch_norm.default", outputs[:3]
    return OpCall(target, args, kwargs, outputs)
