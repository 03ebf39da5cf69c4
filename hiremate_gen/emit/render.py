"""The whole file: model.py carried over, the functions of the step before the planned class, black."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import black
import jinja2
from black.mode import TargetVersion

from hiremate_gen.emit.bindings import bound_names, free_import
from hiremate_gen.emit.carry import carry, eager_name
from hiremate_gen.emit.glue import Glue, input_slot
from hiremate_gen.emit.header import Facts, header
from hiremate_gen.emit.parts import FunctionPart, InputPart, ModelPart
from hiremate_gen.errors import UnsupportedError
from hiremate_gen.ir import Chain, Graph, Schedule
from hiremate_gen.ir.source import SourceFile

MODE = black.Mode(line_length=88, target_versions={TargetVersion.PY311})
_OURS = frozenset({"Live", "check_step", "rng_state", "replaying"})
_IMPORTS = (
    "import hashlib",
    "import torch",
    "import torch.nn.functional as F",
    "from contextlib import contextmanager",
    "from typing import NamedTuple",
)


@dataclass(frozen=True)
class Contract:
    """What the file expects of its callers, from tracing: `constants` are the arguments that are no tensors."""

    constants: tuple[tuple[str, str], ...]
    parameters: int
    digest: str
    result: Callable[[Sequence[str]], str]  # source of what the model returns, given its tensors' names
    leaves: tuple[str, ...]  # where each leaf stands in it: `[1]`, `['logits']`
    unindexed: frozenset[str] = frozenset()  # paths of modules that call a child by a number and have no index


def emit(source: SourceFile, graph: Graph, chain: Chain, schedule: Schedule, contract: Contract, facts: Facts) -> str:
    """The text of the generated file.  Raises UnsupportedError for what cannot be written down."""
    taken = bound_names(source)
    clash = sorted(taken & (_OURS | {"aten"}))
    if clash:
        raise UnsupportedError(
            f"the file uses the name {clash[0]!r}, which generated code needs",
            where=source.path,
            hint="give it another name in model.py",
        )
    glue = _glue(source, graph, chain, schedule, contract)
    model = _model(source, graph, glue, contract)
    environment = _environment()
    before = environment.get_template("step.py.jinja").render(model=model)
    forward = environment.get_template("forward.py.jinja").render(model=model)
    imports = _imports(source, before)
    text = carry(source, forward=forward, before=before, header=header(graph, chain, schedule, facts), imports=imports)
    return str(black.format_str(text, mode=MODE))


def _glue(source: SourceFile, graph: Graph, chain: Chain, schedule: Schedule, contract: Contract) -> Glue:
    assert source.planned is not None
    reserved = bound_names(source) | _OURS
    glue = Glue(graph, chain, schedule, reserved, source.planned.forward.receiver, contract.unindexed)
    glue.build()
    return glue


def labels(
    source: SourceFile, graph: Graph, chain: Chain, schedule: Schedule, contract: Contract
) -> Callable[[int, str], str]:
    """What the functions of a block, by its number, call a value in the file that `emit` writes."""
    glue = _glue(source, graph, chain, schedule, contract)
    return lambda number, value: glue.names[number][value]


def _imports(source: SourceFile, text: str) -> list[str]:
    needed = []
    for statement in _IMPORTS:
        name, new = free_import(source, statement)
        wanted = statement.split()[-1]
        if name != wanted:
            raise UnsupportedError(
                f"the file means something of its own by {wanted!r}, which generated code needs",
                where=source.path,
                hint=f"give it another name than {wanted}",
            )
        if new is not None and (
            f"{wanted}." in text or f"{wanted}(" in text or f"@{wanted}" in text or f"({wanted})" in text
        ):
            needed.append(new)
    return needed


def _model(source: SourceFile, graph: Graph, glue: Glue, contract: Contract) -> ModelPart:
    assert source.planned is not None
    signature = source.planned.forward
    classes = glue.named_classes()
    own = iter(glue.output_names())
    leaves = [next(own) if o.value is not None else o.constant for o in graph.outputs]
    return ModelPart(
        source_name=source.name,
        device_type=graph.device.partition(":")[0],
        uses_rng=glue.uses_rng,
        inputs=_inputs(graph, glue),
        constants=contract.constants,
        parameters=contract.parameters,
        digest=contract.digest,
        functions=tuple((f"block: {name}", _ordered(parts.values())) for name, parts in glue.functions.items()),
        weights=tuple(glue.weights.values()),
        classes=classes,
        applies=tuple(glue.applies),
        result=contract.result(leaves),
        called=_called(graph, glue, contract),
        signature=signature.text,
        passed=signature.arguments,
        receiver=signature.receiver,
        eager=eager_name(source),
    )


def _called(graph: Graph, glue: Glue, contract: Contract) -> dict[str, str]:
    """Name of an output in the last block -> what its user knows it by, as it can stand in a string."""
    tensors = [(o.value, path) for o, path in zip(graph.outputs, contract.leaves, strict=True) if o.value is not None]
    called = {}
    for name, (value, path) in zip(glue.output_names(), tensors, strict=True):
        module = graph.maker[value].origin.module if value in graph.maker else ""
        text = f"output{path}{f', which {module} makes,' * bool(module)}" if path else "the output"
        called[name] = json.dumps(text, ensure_ascii=False)[1:-1]
    return called


def _ordered(parts: Iterable[FunctionPart]) -> tuple[FunctionPart, ...]:
    return tuple(sorted(parts, key=lambda f: ("forward", "recompute", "backward").index(f.phase)))


def _inputs(graph: Graph, glue: Glue) -> tuple[InputPart, ...]:
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


def _environment() -> jinja2.Environment:
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
    environment.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)
    return environment
