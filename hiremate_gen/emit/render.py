"""The whole file: model.py carried over, the functions of the step before the planned class."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent, indent, wrap

import black
import jinja2
from black.mode import TargetVersion

from hiremate_gen.emit.arrange import Parts, shortest
from hiremate_gen.emit.bindings import bound_names
from hiremate_gen.emit.blocks import Blocks
from hiremate_gen.emit.carry import carry, eager_name
from hiremate_gen.emit.free import OURS, freed
from hiremate_gen.emit.functions import Function
from hiremate_gen.emit.glue import Glue
from hiremate_gen.emit.header import Facts, header
from hiremate_gen.emit.helpers import HELPERS
from hiremate_gen.emit.identifiers import quoted
from hiremate_gen.emit.parts import FunctionPart, InputPart, ModelPart
from hiremate_gen.emit.steps import input_slot
from hiremate_gen.ir import Chain, Graph, Schedule
from hiremate_gen.ir.source import SourceFile

_NAMES = 76  # columns for names after each other
MODE = black.Mode(line_length=88, target_versions={TargetVersion.PY311})


@dataclass(frozen=True)
class Contract:
    """What the file expects of its callers, from tracing: `constants` are the arguments that are no tensors."""

    constants: tuple[tuple[str, str], ...]
    parameters: int
    settings: tuple[str, ...]  # names of plain attributes of modules whose values it holds for
    digest: str
    result: Callable[[Sequence[str]], str]  # source of what the model returns, given its tensors' names
    leaves: tuple[str, ...]  # where each leaf stands in it: `[1]`, `['logits']`


def emit(source: SourceFile, graph: Graph, chain: Chain, schedule: Schedule, contract: Contract, facts: Facts) -> str:
    """The text of the generated file.  Raises UnsupportedError for what cannot be written down.

    Only what is generated goes through black: what is carried over stays as it is.
    """
    glue = _glue(source, graph, chain, schedule)
    model = _model(source, graph, glue, contract)
    jinja = templates()
    before = _formatted(jinja.get_template("step.py.jinja").render(model=model))
    free = freed(source, before, ("torch", "remat_step"), _parameters(model.signature))
    forward = _method(jinja.get_template("forward.py.jinja").render(model=model, free=free.names))
    top = header(graph, chain, schedule, facts, glue)
    return carry(source, forward=forward, before=free.text, header=top, imports=list(free.imports))


def _parameters(signature: str) -> frozenset[str]:
    arguments = ast.parse(f"def _({signature}): ...").body[0]
    return frozenset(node.arg for node in ast.walk(arguments) if isinstance(node, ast.arg))


def _glue(source: SourceFile, graph: Graph, chain: Chain, schedule: Schedule) -> Glue:
    reserved = bound_names(source) | frozenset(OURS)
    blocks = Blocks(graph, chain)

    def make(parts: Parts, only: Collection[int] | None) -> Glue:
        return Glue(blocks, schedule, reserved, _length, _count, parts, only)

    return shortest(make)


def labels(source: SourceFile, graph: Graph, chain: Chain, schedule: Schedule) -> Callable[[int, str], str]:
    """What the functions of a block, by its number, call a value in the file that `emit` writes."""
    glue = _glue(source, graph, chain, schedule)
    return lambda number, value: glue.blocks.names[number][value]


def _formatted(text: str) -> str:
    return str(black.format_str(text, mode=MODE))


def _method(text: str) -> str:
    """Formatted as it will stand, one level in."""
    inside = _formatted("class _:\n" + indent(text, "    "))
    return dedent(inside.partition("\n")[2])


def _length(function: Function) -> int:
    return _lines(function.parameters, function.annotation, function.body, function.returns)


@cache
def _count(lines: tuple[str, ...]) -> int:
    """How many they are in a method, as black writes them."""
    text = "class _:\n    def _(self):\n" + indent("\n".join(lines), " " * 8) + "\n"
    return _formatted(text).count("\n") - 2


@cache
def _lines(
    parameters: tuple[tuple[str, str], ...], annotation: str, body: tuple[str, ...], returns: tuple[str, ...]
) -> int:
    """How many a function with this text has."""
    head = f"def {'_' * 24}({', '.join(f'{n}: {t}' for n, t in parameters)}) -> {annotation}:\n    ''\n"
    last = f"return {', '.join(returns)}" if returns else "return"
    return _formatted(head + indent("\n".join([*body, last]), "    ")).count("\n")


def _calls(function: FunctionPart, name: str) -> bool:
    return any(f"= {name}(" in line for line in function.body)


def _model(source: SourceFile, graph: Graph, glue: Glue, contract: Contract) -> ModelPart:
    assert source.planned is not None
    signature = source.planned.forward
    classes = glue.named_classes()
    named = glue.output_names()
    outputs = tuple(named.values())
    leaves = [o.constant if o.value is None else named[o.value] + ".detach()" * o.detached for o in graph.outputs]
    result = contract.result(leaves)
    last = next(part for part, numbers in classes if len(glue.chain.blocks) - 1 in numbers)
    constants = [v for v in graph.values if v.kind == "constant"]
    inputs = _inputs(graph)
    rows = glue.rows(classes)
    return ModelPart(
        source_name=source.name,
        device_type=graph.device.partition(":")[0],
        uses_rng=glue.uses_rng,
        helpers=frozenset(h for h in HELPERS for f in glue.all_functions if _calls(f, h)),
        inputs=inputs,
        constants=contract.constants,
        arguments=(*(n.name for n in inputs), *(name for name, _ in contract.constants)),
        made=tuple((f"constant {n}", v.path) for n, v in enumerate(constants, 1)),
        parameters=contract.parameters,
        settings=tuple(" " * (n > 0) + line for n, line in enumerate(wrap(" ".join(contract.settings), _NAMES))),
        digest=contract.digest,
        functions=glue.groups_of_functions(),
        classes=tuple(part for part, _ in classes),
        runs_again=any(step.again for call in glue.schedule.calls for step in call.steps),
        updates=any(part.buffers for part, _ in classes),
        any_inputs=any(part.inputs for part, _ in classes),
        any_repeats=any(part.repeats for part, _ in classes),
        rows=rows,
        repeated=any(row.startswith("*") for row in rows),
        last=last.name,
        last_path=glue.blocks.prefixes[-1],
        outputs=outputs,
        called=_called(graph, named, contract),
        result=result,
        direct=result in (f"({', '.join(outputs)})", ", ".join(outputs)),
        signature=signature.text,
        returns=f" -> {signature.returns}" if signature.returns else "",
        passed=signature.arguments,
        receiver=signature.receiver,
        eager=eager_name(source),
    )


def _called(graph: Graph, names: Mapping[str, str], contract: Contract) -> dict[str, str]:
    """Name of an output in the last block -> what its user knows it by, as it can stand in a string."""
    paths: dict[str, str] = {}
    for output, path in zip(graph.outputs, contract.leaves, strict=True):
        if output.value is not None and (output.grad is not None or output.value not in paths):
            paths[output.value] = path
    called = {}
    for value, path in paths.items():
        module = graph.maker[value].origin.module if value in graph.maker else ""
        text = f"output{path}{f', which {module} makes,' * bool(module)}" if path else "the output"
        called[names[value]] = quoted(text)[1:-1]
    return called


def _inputs(graph: Graph) -> tuple[InputPart, ...]:
    differentiable = {p for p, _ in graph.gradients}
    used = {graph.index[n].root for op in graph.ops for n in op.inputs}
    return tuple(
        InputPart(
            name=v.path,
            shape=repr(v.shape),
            dtype=f"torch.{v.dtype}",
            requires_grad=v.name in differentiable,
            slot=input_slot(v.path),
            used=v.name in used,
        )
        for v in graph.values
        if v.kind == "input" and v.root == v.name and v.dtype != "object"
    )


def templates() -> jinja2.Environment:
    """Templates stand at the top of a checkout, and inside the package once it is installed."""
    here = Path(__file__).resolve().parents[1]
    folders = [here / "templates", here.parent / "templates"]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([str(f) for f in folders]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["quoted"] = quoted
    return environment
