"""Where in the user's file each node comes from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Protocol

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
    _last: dict[tuple[str, int], fx.Node] = field(default_factory=dict)

    def learn(self, graph: fx.Graph) -> None:
        """Remember which node is the last of its statement: that one makes what the statement assigns."""
        for node in graph.nodes:
            if node.op == "call_function" and not node.meta.get("autograd_backward"):
                self._last[(self._module(node)[0], self._line(node))] = node

    def of(self, node: fx.Node) -> Origin:
        """Module path, class, line and statement of a node; what is unknown stays empty."""
        module, module_class = self._module(node)
        line = self._line(node)
        statement = self.source.statement_at(line) if line else None
        if statement is None:
            return Origin(module=module, module_class=module_class)
        last = self._last.get((module, line)) is node
        return Origin(module, module_class, self.shown, line, statement.text, statement.targets if last else ())

    def where(self, node: fx.Node) -> str:
        """`file:line` of a node, for errors."""
        line = self._line(node)
        return f"{self.shown}:{line}" if line else ""

    def _line(self, node: fx.Node) -> int:
        frames = _FRAME.findall(str(node.meta.get("stack_trace") or ""))
        return next((int(line) for file, line in reversed(frames) if file == self.path), 0)

    def _module(self, node: fx.Node) -> tuple[str, str]:
        stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack") or {}
        path, owner = list(stack.values())[-1] if stack else ("", "")
        name = owner if isinstance(owner, str) else getattr(owner, "__qualname__", "")
        return path, name.rsplit(".", 1)[-1]
