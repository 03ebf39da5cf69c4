"""Classes that call functions in the same way share methods: one derives from another and names its own functions.

Blocks of one kind differ in their plans in a few functions, mostly: what one keeps and another runs again is inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from hiremate_gen.emit.parts import ClassPart, StepPart


@dataclass
class _Root:
    """A class that others derive from: `varying` are the roles in which their functions differ."""

    at: int
    part: ClassPart
    varying: dict[str, None] = field(default_factory=dict)
    derived: dict[int, tuple[str, ...]] = field(default_factory=dict)  # class -> methods that it has from here


def families(parts: Sequence[ClassPart], kinds: Sequence[int]) -> tuple[ClassPart, ...]:
    """`parts`, which have names, as bases and what derives from them; only classes of one of `kinds` do."""
    roots: list[_Root] = []
    for at, (part, kind) in enumerate(zip(parts, kinds, strict=True)):
        alike = [(root, _common(root.part, part)) for root in roots if kinds[root.at] == kind]
        root, common = max(alike, key=lambda found: len(found[1]), default=(None, ()))
        if root is None or not common:
            roots.append(_Root(at, part))
            continue
        root.derived[at] = common
        mine, its = _functions(part, common), _functions(root.part, common)
        root.varying |= {role: None for role in its if its[role] != mine[role]}
    done = list(parts)
    for root in roots:
        base = _functions(root.part, ("forward", "backward"))
        names = tuple((role, base[role]) for role in root.varying)
        done[root.at] = replace(_asking(root.part, root.varying), functions=names)
        for at, common in root.derived.items():
            mine = _functions(parts[at], common)
            own = tuple((role, mine[role]) for role in root.varying if role in mine and mine[role] != base[role])
            written = tuple(m for m in ("forward", "backward") if m not in common)
            done[at] = replace(parts[at], base=root.part.name, functions=own, methods=written)
    return tuple(done)


def _common(one: ClassPart, two: ClassPart) -> tuple[str, ...]:
    """Methods that are the same but for the functions that they call."""
    if replace(one, name="", doc="", forward=(), backward=()) != replace(two, name="", doc="", forward=(), backward=()):
        return ()
    a, b = (_plain(part) for part in (one, two))
    return tuple(m for m in ("forward", "backward") if getattr(a, m) == getattr(b, m))


def _plain(part: ClassPart) -> ClassPart:
    return _changed(part, lambda step: replace(step, function=""))


def _asking(part: ClassPart, roles: dict[str, None]) -> ClassPart:
    """With calls of the class's own functions for `roles`."""
    return _changed(part, lambda s: replace(s, function=f"cls.{s.role}") if s.role in roles else s)


def _changed(part: ClassPart, change: Callable[[StepPart], StepPart]) -> ClassPart:
    chunks = tuple(replace(chunk, steps=tuple(map(change, chunk.steps))) for chunk in part.backward)
    return replace(part, forward=tuple(map(change, part.forward)), backward=chunks)


def _functions(part: ClassPart, methods: Sequence[str]) -> dict[str, str]:
    """Role -> function."""
    steps = [*part.forward] if "forward" in methods else []
    steps += [step for chunk in part.backward for step in chunk.steps] if "backward" in methods else []
    return {step.role: step.function for step in steps}
