"""What stands over a group of lines: the statement of the user's that they come from, and how much of it they do."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from hiremate_gen.emit.identifiers import short
from hiremate_gen.emit.names import Names
from hiremate_gen.ir import Call, Graph, Op
from hiremate_gen.ir.graph import RNG_STATE

_SHORTEST = 3  # steps that run again in the midst of others and get a comment over them
_SUM = "sum of the gradients of "
_REPLAY = "aten.native_dropout_backward.default"


@dataclass(frozen=True, slots=True)
class Comments:
    """By number of step in its call: `above` stands over it; what is `marked` says at its end that it runs again."""

    above: Mapping[int, str]
    marked: frozenset[int]


@dataclass(slots=True)
class _Group:
    """Consecutive steps that come from one statement in one way."""

    kind: str  # "", "grad of ", "sum of the gradients of ", "recompute "
    said: str
    steps: list[int]


def comments(graph: Graph, call: Call, names: Names) -> Comments:
    """For the steps of `call`, whose values have `names`."""
    groups, marked = _merged(graph, call, _groups(graph, call, names))
    above = {}
    for group in groups:
        said = group.said
        if group.kind == "recompute ":
            said = _again(graph, call, names, group)
        if group.kind or said:
            above[group.steps[0]] = f"# {group.kind}{said}".rstrip()
    return Comments(above, frozenset(marked))


def _groups(graph: Graph, call: Call, names: Names) -> list[_Group]:
    groups: list[_Group] = []
    for k, step in enumerate(call.steps):
        op = graph.op[step.op]
        source = graph.op[op.derives] if op.derives is not None else op
        kind = "grad of " if op.backward else "recompute " if step.again else ""
        said = _said(names, source)
        if groups and (groups[-1].kind, groups[-1].said) == (kind, said):
            groups[-1].steps.append(k)
        elif op.name in names.sums:  # the statement that it is traced to made one of the terms
            groups.append(_Group(_SUM, names.sums[op.name], [k]))
        elif said or step.again:
            groups.append(_Group(kind, said, [k]))
        elif groups:
            groups[-1].steps.append(k)
    return groups


def _merged(graph: Graph, call: Call, groups: list[_Group]) -> tuple[list[_Group], set[int]]:
    """A few steps that run again in the midst of a gradient do not part it: they are marked one by one.

    Dropout has a comment over it in any case: it does not look like itself.
    """
    found: list[_Group] = []
    marked: set[int] = set()
    for k, group in enumerate(groups):
        after = groups[k + 1] if k + 1 < len(groups) else None
        before = found[-1] if found else None
        plain = not any(_replays_mask(graph.op[call.steps[n].op]) for n in group.steps)
        few = group.kind == "recompute " and len(group.steps) < _SHORTEST and plain
        inside = before is not None and after is not None and (before.kind, before.said) == (after.kind, after.said)
        if few and inside:
            marked.update(group.steps)
        elif before is not None and (before.kind, before.said) == (group.kind, group.said):
            before.steps += group.steps
        else:
            found.append(group)
    return found, marked


def _said(names: Names, op: Op) -> str:
    """The statement after the module whose forward holds it, or the module at work where that is not named."""
    origin = op.origin
    where, module = names.relative(origin.owner), names.relative(origin.module)
    line = f"{origin.text}...)" if origin.text.endswith("(") else origin.text  # the first of several
    text = f"{where}: {line}" if where and line else line
    inside = module.removeprefix(f"{where}.") if where else module
    last = inside.rpartition(".")[2]
    if "." in inside and origin.text and not re.search(rf"\b{last}\b", origin.text):
        return f"{inside} ({origin.module_class}) in {text}"
    return text


# ---- what runs again of a statement --------------------------------------------------------------------------------


def _again(graph: Graph, call: Call, names: Names, group: _Group) -> str:
    ops = [graph.op[call.steps[k].op] for k in group.steps]
    said = group.said
    rest = [o for o in _statement(graph, names, ops[0]) if o not in ops]
    if rest and said:
        said = _calls(names, ops, rest) or f"part of {said}"
    return f"with the mask of forward: {said}" if any(map(_replays_mask, ops)) else said


def _replays_mask(op: Op) -> bool:
    return op.target == _REPLAY and not op.backward


def _statement(graph: Graph, names: Names, one: Op) -> list[Op]:
    """The ops that make up what is said of `one`, less those that never run again."""
    place, said = (one.origin.owner, one.origin.line), _said(names, one)
    ops = (graph.op[name] for name in names.forward)
    return [
        o
        for o in ops
        if (o.origin.owner, o.origin.line) == place
        and _said(names, o) == said
        and o.recomputable
        and o.target not in (RNG_STATE, "aten.native_dropout.default")
        and not (o.writes_buffer and len(o.outputs) == 1)
    ]


def _calls(names: Names, ops: list[Op], rest: list[Op]) -> str:
    """The calls in the statement that `ops` are all of, as the user wrote them; nothing where that is not clear."""
    origin = ops[0].origin
    where = names.relative(origin.owner)
    left = {o.origin.module for o in rest}
    found: dict[str, None] = {}
    for op in ops:
        module = op.origin.module
        if module != origin.owner:
            path = names.relative(module)
            name = (path.removeprefix(f"{where}.") if where else path).rpartition(".")[2]
            written = "" if module in left else _call(origin.text, name)
        else:
            written = _call(origin.text, short(op.target))
        if not written:
            return ""
        found[written] = None
    said = ", ".join(found)
    return f"{where}: {said}" if where else said


def _call(text: str, name: str) -> str:
    """The only call of `name` in a statement; arguments that call something themselves are left out."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and _last(n.func) == name]
    if len(calls) != 1:
        return ""
    [call] = calls
    inner = [n for a in (*call.args, *(k.value for k in call.keywords)) for n in ast.walk(a)]
    if any(isinstance(n, ast.Call) for n in inner):
        return f"{ast.get_source_segment(text, call.func)}(...)"
    return ast.get_source_segment(text, call) or ""


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
