"""Where blocks are cut that run in several ways: so that what these ways do alike stands in the file once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from hiremate_gen.emit.glue import Glue
from hiremate_gen.emit.split import Part, finest, joined

Parts = Mapping[int, tuple[Part, ...]]  # by twin
Make = Callable[[Parts, Collection[int] | None], Glue]  # parts, numbers of blocks
WORTH = 4  # lines that a cut has to spare: it is a function more to find one's way through


def shortest(make: Make) -> Glue:
    """From cuts wherever they are possible, leave out one after another that does not make the file shorter.

    Only kinds of blocks of which there are several classes are cut, and one block of each class tells.
    """
    whole = _built(make({}, None))
    kinds = [whole.blocks.kinds[twin] for twin in whole.twins]
    twins = sorted({t for t, kind in zip(whole.twins, kinds, strict=True) if kinds.count(kind) > 1})
    if not twins:
        return whole
    shown = [numbers[0] for numbers in whole.groups]

    def lines(parts: Parts) -> int:
        return _built(make(parts, shown)).lines

    graph, blocks, prefixes = whole.graph, whole.chain.blocks, whole.blocks.prefixes
    parts = {t: finest(graph, blocks[t], prefixes[t]) for t in twins}
    best, tried = lines(parts), True
    while tried:
        tried = False
        for twin in twins:
            at = 1
            while at < len(parts[twin]):
                fewer = {
                    **parts,
                    twin: joined(graph, blocks[twin], prefixes[twin], parts[twin], at),
                }
                now = lines(fewer)
                if now <= best + WORTH:
                    parts, best, tried = fewer, now, True
                else:
                    at += 1
    return _built(make(parts, None)) if best + WORTH <= lines(whole.parts) else whole


def _built(glue: Glue) -> Glue:
    glue.build()
    return glue
