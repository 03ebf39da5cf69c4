"""Where values wait between functions: in a list that one function leaves to another, else `live["fc", i]`."""

from __future__ import annotations

from collections.abc import Iterable

from hiremate_gen.emit.names import Names
from hiremate_gen.ir import Chain, Graph


class Slots:
    """Root -> key in `live`.

    What belongs to a block is kept under its name and the block's number, written relative to the block that reads
    it, so that instances of a block which do the same read the same.
    """

    def __init__(self, graph: Graph, chain: Chain, names: tuple[Names, ...]) -> None:
        self._keys: dict[str, tuple[str, int]] = {}
        self._shared: set[str] = set()
        owner = {op: n for n, block in enumerate(chain.blocks) for op in (*block.forward, *block.backward)}
        for root, maker in graph.producer.items():
            self._keys[root] = (names[owner[maker]][root], owner[maker])
        for op in graph.computes:
            for root in graph.reads[op.name]:
                if root in graph.producer and owner[graph.producer[root]] != owner[op.name]:
                    self._shared.add(root)
        for number, block in enumerate(chain.blocks):
            for end, name in ((block.input, "x"), (block.grad_input, "grad_x")):
                if end is not None:
                    self._keys[end] = (name, number)
                    self._shared.discard(end)

    def key(self, root: str, reader: int) -> str:
        """The subscript for `root` as the functions of block `reader` write it."""
        name, number = self._keys[root]
        return f'"{name}", {number if root in self._shared else relative(number, reader)}'


def relative(number: int, reader: int) -> str:
    """Block `number` as seen from block `reader`, where `i` is the latter."""
    offset = number - reader
    return "i" if offset == 0 else f"i {'+' if offset > 0 else '-'} {abs(offset)}"


def left_to(
    roots: Iterable[str], touched: dict[str, list[int]], takes: dict[int, tuple[str, ...]]
) -> dict[int, list[str]]:
    """Call -> those of `roots` that it takes and no other call touches; `takes` are the calls to choose from."""
    found: dict[int, list[str]] = {}
    for root in roots:
        calls = touched.get(root, [])
        if len(calls) == 1 and root in takes.get(calls[0], ()):
            found.setdefault(calls[0], []).append(root)
    return found
