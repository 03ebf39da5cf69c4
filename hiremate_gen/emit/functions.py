"""A call of the schedule as the source of a function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hiremate_gen.emit.body import Body, write_body
from hiremate_gen.emit.identifiers import quoted
from hiremate_gen.emit.names import Names
from hiremate_gen.ir import Call, Graph
from hiremate_gen.ir.graph import refs


@dataclass(frozen=True, slots=True)
class Passing:
    """How the values of a call come and go.

    Roots that die inside come in lists that the function empties, `taken` and `kept`: as plain arguments they would
    live on in whoever calls (CPython keeps the arguments of a long call in a tuple).  `keeps` leave in a list, too,
    which is the `kept` of a call in backward.  Gradients leave in a dictionary by name of what they belong to.
    """

    taken: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    gradients: tuple[tuple[str, str], ...] = ()  # (key, value)
    outputs: tuple[str, ...] = ()  # what the model returns
    served: frozenset[str] = frozenset()  # results that serve nothing but an output or a gradient


@dataclass(frozen=True, slots=True)
class Function:
    """Source of a function without its name.  `borrowed` are the values behind the plain parameters, `results` those
    behind the plain results."""

    parameters: tuple[tuple[str, str], ...]  # name, annotation
    borrowed: tuple[str, ...]
    tuples: tuple[str, ...]  # "w", "buffers": those that are read
    results: tuple[str, ...]
    returns: tuple[str, ...]  # source of what is returned
    annotation: str
    body: tuple[str, ...]
    at: dict[str, int]  # op -> line of the body
    uses_rng: bool


def write(graph: Graph, call: Call, names: Names, tuples: Mapping[str, str], passing: Passing) -> Function:
    """Write `call` as a function.  `tuples` tells for parameters and buffers of the model what brings them."""
    extra = (*(g for _, g in passing.gradients), *passing.outputs)
    body = Body(graph, call, names, tuples, extra)
    statics = _statics(body)
    made = {r for step in call.steps for r in graph.writes[step.op]}
    borrowed = tuple(dict.fromkeys((*call.borrows, *(v for v in statics if v not in tuples))))
    known = {*made, *call.takes, *borrowed}
    borrowed += tuple(
        r for r in dict.fromkeys(graph.index[v].root for v in extra) if r not in known and r not in tuples
    )
    plain = [p for p in (*borrowed, *call.takes) if graph.index[p].kind != "rng"]
    body.live = {body.name(p): None for p in (*plain, *statics)}
    for what, roots in (("kept", passing.kept), ("taken", passing.taken)):
        _unpack(body, what, roots)
    write_body(body)
    left = (*passing.served, *passing.keeps)
    results = (*(r for r in call.results if r not in left), *passing.outputs)
    returns, kinds = _returns(body, passing, results)
    used = tuple(t for t in ("w", "buffers") if any(tuples.get(v) == t for v in statics))
    parameters = [(n, "list[Tensor]") for n, roots in (("kept", passing.kept), ("taken", passing.taken)) if roots]
    parameters += [(names[v], "Tensor") for v in borrowed] + [(t, "Tensors") for t in used]
    annotation = "None" if not kinds else kinds[0] if len(kinds) == 1 else f"tuple[{', '.join(kinds)}]"
    return Function(
        parameters=tuple(parameters),
        borrowed=borrowed,
        tuples=used,
        results=results,
        returns=tuple(returns),
        annotation=annotation,
        body=tuple(body.lines),
        at=body.at,
        uses_rng=body.rng,
    )


def _returns(body: Body, passing: Passing, results: tuple[str, ...]) -> tuple[list[str], list[str]]:
    roots = {r for r in results if body.names.faces.get(r, r) == r and r not in passing.outputs}
    returns = [body.names[r] if r in roots else body.show(r) for r in results]
    kinds = ["Tensor"] * len(results)
    if passing.keeps:
        returns.append(f"[{', '.join(body.names[r] for r in passing.keeps)}]")
        kinds.append("list[Tensor]")
    if passing.gradients:
        items = [f"{quoted(key)}: {body.show(g)}" for key, g in passing.gradients]
        returns.append("{" + ", ".join(items) + "}")
        kinds.append("Tensors")
    return returns, kinds


def _unpack(body: Body, what: str, roots: tuple[str, ...]) -> None:
    names = [body.names[r] for r in roots]
    if len(names) == 1:
        body.lines.append(f"{names[0]} = {what}.pop()")
    elif names:
        body.lines.append(f"{', '.join(names)} = drain({what})")


def _statics(body: Body) -> tuple[str, ...]:
    """Static roots that the call reads: some arguments are not read when an op runs again."""
    graph = body.graph
    found: dict[str, None] = {}
    for step in body.call.steps:
        op = graph.op[step.op]
        args = op.again_args if step.again and op.again_args is not None else op.args
        values = [*refs(args), *(n for _, a in op.kwargs for n in refs(a))]
        values += [] if step.again else [b for _, b in op.writes_buffer]
        for value in values:
            root = graph.index[value].root
            if graph.index[root].static:
                found[root] = None
    for value in body.extra:
        if graph.index[graph.index[value].root].static:
            found[graph.index[value].root] = None
    return tuple(found)
