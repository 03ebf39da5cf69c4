"""Seconds and workspace bytes of each node, by the cost model that the user chose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from hiremate_gen.graph.workspace import workspace_bytes

Cost = Callable[[fx.Node], tuple[float, int]]


def cost_model(name: str) -> Cost:
    """`unit` or `roofline`; workspace is the estimate for both."""
    return lambda node: (1.0 if name == "unit" else _bytes_moved(node) * 1e-10 + 1e-6, _workspace(node))


def _workspace(node: fx.Node) -> int:
    args, kwargs = fx.map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
    return workspace_bytes(str(node.target), args, kwargs, node.meta["val"])


def _bytes_moved(node: fx.Node) -> int:
    values: list[Any] = [n.meta.get("val") for n in node.all_input_nodes]
    out = node.meta["val"]
    values += list(out) if isinstance(out, (tuple, list)) else [out]
    return sum(v.numel() * v.element_size() for v in values if isinstance(v, torch.Tensor))
