"""Where in the user's file each node comes from."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import fx

from hiremate_gen.ir import Origin

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


class Statement(Protocol):
    """A statement of the user's file."""

    @property
    def text(self) -> str: ...
    @property
    def targets(self) -> tuple[str, ...]: ...


class Source(Protocol):
    """The user's file, as far as origins need it."""

    def statement_at(self, line: int) -> Statement | None: ...


@dataclass
class Origins:
    """Positions of nodes: `path` is the model file as torch saw it, `shown` as the user named it."""

    source: Source
    path: str
    shown: str
    _targets: dict[fx.Node, tuple[str, ...]] = field(default_factory=dict)

    def learn(self, graph: fx.Graph) -> None:
        """Find the nodes that make what statements assign: the last one of each run of a statement."""
        running: dict[str, list[fx.Node]] = {}  # module -> nodes of the statement that its forward is at
        for node in graph.nodes:
            silent = node.target in (operator.getitem, torch.ops.aten.detach.default)
            if node.op != "call_function" or node.meta.get("autograd_backward") or silent:
                continue
            run = running.setdefault(self._owner(node), [])
            if run and self._line(run[-1]) != self._line(node):
                self._assign(run)
                run.clear()
            run.append(node)
        for run in running.values():
            self._assign(run)

    def _assign(self, run: list[fx.Node]) -> None:
        """`q, k, v = qkv[0], qkv[1], qkv[2]` has a node for each name, everything else one for all of them."""
        statement = self.source.statement_at(self._line(run[-1])) if self._line(run[-1]) else None
        targets = statement.targets if statement is not None else ()
        if 1 < len(targets) == len(run):
            self._targets.update({node: (name,) for node, name in zip(run, targets, strict=True)})
        else:
            self._targets[run[-1]] = targets

    def of(self, node: fx.Node) -> Origin:
        """Module path, class, line and statement of a node; what is unknown stays empty."""
        module, module_class = self._module(node)
        line = self._line(node)
        statement = self.source.statement_at(line) if line else None
        if statement is None:
            return Origin(module=module, module_class=module_class)
        targets = self._targets.get(node, ())
        return Origin(module, module_class, self.shown, line, statement.text, targets, self._owner(node))

    def where(self, node: fx.Node) -> str:
        """`file:line` of a node, for errors."""
        line = self._line(node)
        return f"{self.shown}:{line}" if line else ""

    def _line(self, node: fx.Node) -> int:
        frames = _FRAME.findall(str(node.meta.get("stack_trace") or ""))
        return next((int(line) for file, line in reversed(frames) if file == self.path), 0)

    def _module(self, node: fx.Node) -> tuple[str, str]:
        path, owner = next(reversed(_stack(node)), ("", ""))
        return path, owner.rsplit(".", 1)[-1]

    def _owner(self, node: fx.Node) -> str:
        """The innermost module that is none of torch's own: its forward is the user's."""
        return next((path for path, owner in reversed(_stack(node)) if not owner.startswith("torch.nn.")), "")


def _stack(node: fx.Node) -> list[tuple[str, str]]:
    """Path and qualified class of the modules that a node lies in, from the model inwards."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack") or {}
    return [(p, o if isinstance(o, str) else f"{o.__module__}.{o.__qualname__}") for p, o in stack.values()]
