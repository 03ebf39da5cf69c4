"""Where the ops of a block come from in the user's model: its modules, statements, parameters and buffers."""

from __future__ import annotations

from collections.abc import Iterable

from hiremate_gen.ir import Block, Graph, Op
from hiremate_gen.ir.graph import RNG_STATE


def counts_batches(op: Op) -> bool:
    """A counter that goes up in a buffer, as BatchNorm's does: nobody looks for its result under a name."""
    return bool(op.writes_buffer) and len(op.outputs) == 1 and not op.tupled


def passed_through(graph: Graph) -> frozenset[str]:
    """Modules that their parent has alone: in a path they say nothing that it does not.  Numbers stay: what is counted
    today may be several tomorrow."""
    modules = {op.origin.module for op in graph.ops if not op.backward}
    modules |= {v.path.rpartition(".")[0] for v in graph.values if v.kind in ("parameter", "buffer")}
    children: dict[str, set[str]] = {}
    for module in modules:
        while module:
            parent = module.rpartition(".")[0]
            children.setdefault(parent, set()).add(module)
            module = parent
    only = (module for found in children.values() if len(found) == 1 for module in found)
    return frozenset(m for m in only if not m.rpartition(".")[2].isdigit())


def shortened(path: str, prefix: str, needless: frozenset[str]) -> str:
    """`path`, which starts at the module `prefix`, without the `needless` modules between its two ends."""
    parts = path.split(".")
    start = f"{prefix}." if prefix else ""
    kept = [p for k, p in enumerate(parts[1:-1], 1) if start + ".".join(parts[: k + 1]) not in needless]
    return ".".join([parts[0], *kept, parts[-1]]) if len(parts) > 2 else path


def static_values(graph: Graph, ops: Iterable[str]) -> tuple[str, ...]:
    """Parameters, buffers, inputs and constants that `ops` read, directly or through views, in order of first use."""
    found: dict[str, None] = {}
    for name in ops:
        op = graph.op[name]
        for value in (*op.inputs, *(buffer for _, buffer in op.writes_buffer)):
            root = graph.index[value].root
            if graph.index[root].static:
                found[root] = None
    return tuple(found)


def single_op_modules(graph: Graph, block: Block) -> frozenset[str]:
    """Modules with one op in the block: their name says what the op is.  Counting batches is no op of its own."""
    counts: dict[str, int] = {}
    for name in block.forward:
        op = graph.op[name]
        if not op.random and op.target != RNG_STATE and not counts_batches(op):
            counts[op.origin.module] = counts.get(op.origin.module, 0) + 1
    return frozenset(m for m, n in counts.items() if n == 1 and m)


def assigned(graph: Graph, block: Block) -> dict[tuple[str, int], tuple[str, ...]]:
    """(module, line) -> what the statement there assigns."""
    first, last = block.forward[0], block.forward[-1]
    inside = False
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    for op in graph.ops:
        inside = inside or op.name == first
        if inside and op.origin.targets:
            found[op.origin.owner, op.origin.line] = op.origin.targets
        if op.name == last:
            break
    return found
