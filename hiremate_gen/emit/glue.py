"""The parts of the file: functions and autograd Functions, each text once, and the table of blocks that use them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from textwrap import shorten

from hiremate_gen.emit.blocks import Blocks
from hiremate_gen.emit.families import families
from hiremate_gen.emit.functions import Function
from hiremate_gen.emit.identifiers import RESERVED, camel, snake
from hiremate_gen.emit.parts import ChunkPart, ClassPart, FunctionPart, StepPart
from hiremate_gen.emit.rows import rows
from hiremate_gen.emit.split import Part, distinct, halves, whole_block
from hiremate_gen.emit.steps import Steps, input_slot
from hiremate_gen.emit.table import describe, instances
from hiremate_gen.ir import Chain, Graph, Schedule

LONGEST = 120  # lines of a function
_MOST_PIECES = 32
_LONGEST_CHUNK = 80  # lines
_DOC = 80  # columns of a function's docstring
_AROUND = {"class": 9, "forward": 4, "backward": 5}  # lines that are not calls
_PHASES = {"forward": "Forward of", "recompute": "Forward again of", "backward": "Backward of"}


@dataclass
class Glue:
    """Builds the parts block by block; equal text is written once.

    `parts` are what the blocks of a kind, by twin, are cut in to begin with; with `only` nothing is built for blocks of
    other numbers.
    """

    blocks: Blocks
    schedule: Schedule
    reserved: frozenset[str]
    length: Callable[[Function], int]  # lines, as black writes them
    count_lines: Callable[[tuple[str, ...]], int]
    parts: Mapping[int, tuple[Part, ...]]
    only: Collection[int] | None = None
    steps: Steps = field(init=False)
    functions: dict[str, dict[tuple[object, ...], FunctionPart]] = field(default_factory=dict)
    classes: dict[ClassPart, list[int]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    lengths: dict[str, int] = field(default_factory=dict)  # of functions
    first: dict[str, int] = field(default_factory=dict)  # function -> kind of the block that it was written for
    served: dict[str, dict[int, None]] = field(default_factory=dict)  # function -> numbers of the blocks it is for
    peak: tuple[str, int] | None = None  # function, line: where the step's peak is
    uses_rng: bool = False

    def __post_init__(self) -> None:
        self.used = set(self.reserved | RESERVED)
        self._divide()

    @property
    def graph(self) -> Graph:
        return self.blocks.graph

    @property
    def chain(self) -> Chain:
        return self.blocks.chain

    def _divide(self) -> None:
        """Cut the blocks of a kind in more parts while one of their functions is too long, and parts in pieces."""
        whole = {b.twin: whole_block(b) for b in self.chain.blocks}
        self.parts = parts = {**whole, **self.parts}
        pieces: dict[tuple[int, int, str], int] = {}
        while True:
            cuts = tuple(parts[b.twin] for b in self.chain.blocks)
            self.steps = Steps(self.blocks, self.schedule, cuts, pieces)
            long = self._too_long()
            if not long:
                return
            before = (dict(parts), dict(pieces))
            for twin in sorted({twin for twin, _, _ in long}):
                mine = {part for t, part, _ in long if t == twin}
                new = self._halved(twin, mine)
                if len(new) > len(parts[twin]):
                    parts[twin] = new
                    pieces = {key: n for key, n in pieces.items() if key[0] != twin}
                else:
                    pieces |= {key: pieces.get(key, 1) + 1 for key in long if key[0] == twin}
            if before == (parts, pieces) or max(pieces.values(), default=0) > _MOST_PIECES:
                return

    def _too_long(self) -> set[tuple[int, int, str]]:
        """(twin, part, phase) of functions that are."""
        found = set()
        for k, run in enumerate(self.steps.runs):
            if self.only is not None and run.number not in self.only:
                continue
            key = (self.chain.blocks[run.call.block].twin, run.part, run.call.phase)
            if key not in found and self.length(self.steps.function(k, self._outputs(k))) > LONGEST:
                found.add(key)
        return found

    def _halved(self, twin: int, chosen: set[int]) -> tuple[Part, ...]:
        """The parts of a kind, those with the numbers `chosen` in two where they are long enough for that."""
        block, prefix = self.chain.blocks[twin], self.blocks.prefixes[twin]
        new: list[Part] = []
        for n, part in enumerate(self.parts[twin]):
            new += (halves(self.graph, block, prefix, part) if n in chosen else None) or (part,)
        return distinct(new)

    def _outputs(self, k: int) -> tuple[str, ...]:
        """What the model returns, from the last run of the last block's forward."""
        last = self.steps.of(len(self.chain.blocks) - 1, True)[-1]
        found = [o.value for o in self.graph.outputs if o.value is not None] if k == last else []
        return tuple(dict.fromkeys(found))

    # ---- blocks ------------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Fill the parts."""
        others = [(k, r.call.block) for k, r in enumerate(self.steps.runs) if r.call.block != r.number]
        again = {block for k, block in others if "w" in self.steps.function(k, ()).tuples}
        for number in range(len(self.chain.blocks)) if self.only is None else self.only:
            part = self._class(number, number in again)
            self.classes.setdefault(part, []).append(number)

    def _class(self, number: int, shared: bool) -> ClassPart:
        last = number == len(self.chain.blocks) - 1
        forward, backward = self.steps.of(number, True), self.steps.of(number, False)
        outputs = self._outputs(forward[-1])
        arrivals = self.arrivals() if last else {}
        names = self.blocks.names[number]
        output_names = self.output_names().values()
        planned = {o.value for o in self.graph.outputs if o.grad is not None}
        pairs = [(f"grad_{n}", n, o) for n, o in zip(output_names, outputs, strict=True)] if last else []
        taken = {o.value for o in self.graph.outputs if not o.detached}
        gradients = self.blocks.gradients[number]
        return ClassPart(
            name="",
            doc="",
            weights=self.blocks.weight_names(number),
            buffers=tuple(names.path(v) for v in self.blocks.buffers[number]),
            inputs=tuple(
                (g.key, input_slot(self.graph.index[g.of].path)) for g in gradients if self.blocks.is_input(g.of)
            ),
            repeats=tuple(
                (g.key, names.path(g.of)) for g in gradients if g.repeated and not self.blocks.is_input(g.of)
            ),
            last=last,
            shared=shared,
            forward=tuple(self._step(k, {}) for k in forward),
            outputs=tuple(names[o] + (".detach()" if self._waits(forward[-1], o) else "") for o in outputs),
            grad_outputs=tuple(f"grad_{n}" for n in output_names) if last else ("token",),
            unplanned=tuple((grad, n) for grad, n, o in pairs if o not in planned and o in taken),
            expected=tuple((grad, n) for grad, n, o in pairs if o in planned),
            stores=tuple((f'"{t}"', a) for t, a in arrivals.items() if self._leaves_last(t)),
            backward=self._chunks([(k, self._step(k, arrivals)) for k in backward]),
            token=f"{next(iter(arrivals.values()))}.new_empty(0)" if last else "token",
        )

    def _step(self, k: int, arrivals: dict[str, str]) -> StepPart:
        outputs = self._outputs(k)
        function = self.steps.function(k, outputs)
        self.uses_rng |= function.uses_rng
        name = self._function(k, function)
        self.served.setdefault(name, {})[self.steps.runs[k].call.block] = None
        here = self.steps.runs[k].source == self.schedule.peak_call and self.schedule.peak_op in function.at
        if here:
            self.peak = name, function.at[self.schedule.peak_op]
        return self.steps.step(k, function, name, outputs, arrivals)

    def _chunks(self, steps: list[tuple[int, StepPart]]) -> tuple[ChunkPart, ...]:
        """The calls of a backward, a method for as many as are short enough together."""
        chunks: list[list[tuple[int, StepPart]]] = [[]]
        length = 0
        for k, step in steps:
            count = self.count_lines(step.lines)
            if chunks[-1] and length + count > _LONGEST_CHUNK:
                chunks.append([])
                length = 0
            chunks[-1].append((k, step))
            length += count
        return tuple(
            ChunkPart(
                tuple(step for _, step in chunk),
                tuple(self.steps.gradients_name(k) for k, _ in chunk if self.steps.passing(k, ()).gradients),
            )
            for chunk in chunks
        )

    def _waits(self, k: int, output: str) -> bool:
        """Whether `live` has this output too: returned as it is it would keep the step, which keeps it, alive."""
        call = self.steps.runs[k].call
        return self.graph.index[output].root not in call.results or self.steps.read_later(call, output)

    def output_names(self) -> dict[str, str]:
        """Names of the tensors that the model returns, each once, for its last Function."""
        names = self.blocks.names[-1]
        return {o.value: names[o.value] for o in self.graph.outputs if o.value is not None}

    def arrivals(self) -> dict[str, str]:
        """Tangent -> the argument of the last backward that brings it."""
        names = self.output_names()
        return {
            o.grad: f"grad_{names[o.value]}" for o in self.graph.outputs if o.value is not None and o.grad is not None
        }

    def _leaves_last(self, tangent: str) -> bool:
        """Whether an earlier block's backward reads a gradient that arrives at the last."""
        return any(tangent in self.graph.reads[op] for block in self.chain.blocks[:-1] for op in block.backward) or any(
            self.graph.index[g].root == tangent for _, g in self.graph.gradients
        )

    @property
    def twins(self) -> list[int]:
        """The kind of each class."""
        return [self.chain.blocks[numbers[0]].twin for numbers in self.classes.values()]

    @property
    def lines(self) -> int:
        """About how many lines the functions and classes take."""
        classes = families(list(self.classes), self.twins)
        calls = sum(self.count_lines(step.lines) for part in classes for step in part.steps)
        around = sum(_AROUND[part] for c in classes for part in ("class", *c.methods))
        return sum(self.lengths.values()) + calls + around

    @property
    def groups(self) -> list[list[int]]:
        """Numbers of the blocks that share a class."""
        return list(self.classes.values())

    @property
    def all_functions(self) -> list[FunctionPart]:
        return [part for parts in self.functions.values() for part in parts.values()]

    def groups_of_functions(self) -> tuple[tuple[str, tuple[FunctionPart, ...]], ...]:
        """Under a heading each, the line at which memory peaks marked."""
        found = []
        for kind, parts in self.functions.items():
            numbers = [n for n, k in enumerate(self.blocks.kinds) if k == kind]
            heading = shorten(f"{kind}: {self._instances(numbers)}", 70, placeholder=" ...")
            order = sorted(parts.values(), key=lambda f: tuple(_PHASES).index(f.phase))
            found.append((heading, tuple(self._told(self._marked(f), numbers) for f in order)))
        return tuple(found)

    def _instances(self, numbers: Iterable[int]) -> str:
        return instances([self.chain.blocks[n].name for n in sorted(numbers)])

    def _told(self, part: FunctionPart, numbers: list[int]) -> FunctionPart:
        """With the blocks that it is for, where these are not all that stand in the heading.

        Those to the last are not counted: another one at the end is no change of the function.
        """
        served = self.served[part.name]
        if len(served) == len(numbers):
            return part
        last = sorted(served) == numbers[-len(served) :] and len(served) > 1
        blocks = f"from {self._instances(numbers[-len(served) :][:1])} on" if last else self._instances(served)
        doc = f"{part.doc[:-1]}: {blocks}"
        cut = doc if len(doc) <= _DOC else f"{doc[: _DOC - 3].rpartition(',')[0]}, .."
        return replace(part, doc=f"{cut}.")

    def _marked(self, part: FunctionPart) -> FunctionPart:
        if self.peak is None or self.peak[0] != part.name:
            return part
        block = self.chain.blocks[self.schedule.calls[self.schedule.peak_call].block]
        at = self.peak[1]
        body = (*part.body[:at], f"# --- peak of the step, in {block.name} ---", *part.body[at:])
        return replace(part, body=body)

    # ---- names of functions, tables and classes ----------------------------------------------------------------

    def _function(self, k: int, function: Function) -> str:
        """The name of the function with this text."""
        run = self.steps.runs[k]
        number = run.call.block
        kind, label = self.blocks.kinds[number], self.blocks.labels[number]
        part = self.steps.parts[number][run.part].name
        group = self.functions.setdefault(kind, {})
        text = (function.parameters, function.body, function.returns)
        if text not in group:
            piece = f"piece{run.piece}" if run.piece else ""
            plain, longer = ("_".join(filter(None, (snake(x), part, run.call.phase, piece))) for x in (kind, label))
            # Of the same work done in two ways neither place says which is which: these get numbers.
            twin = self.chain.blocks[number].twin
            name = self._unique(longer if plain in self.used and self.first.get(plain) != twin else plain)
            self.first.setdefault(name, twin)
            told = f", piece {run.piece} of {run.pieces}" if run.piece else ""
            what = self._values(k) if run.call.phase == "recompute" else part
            doc = f"{_PHASES[run.call.phase]} {what + ' in ' if what else ''}{kind}{told}."
            parameters = tuple(f"{name}: {annotation}" for name, annotation in function.parameters)
            group[text] = FunctionPart(
                name, doc, parameters, function.annotation, function.body, function.returns, run.call.phase
            )
            self.lengths[name] = self.length(function)
        return group[text].name

    def _values(self, k: int) -> str:
        """What a run makes, by name: of many the first and the last."""
        call = self.steps.runs[k].call
        names = self.blocks.names[call.block]
        made = [names[o] for step in call.steps for o in self.graph.op[step.op].outputs[:1] if o is not None]
        return ", ".join(made) if len(made) < 4 else f"{made[0]} to {made[-1]}"

    def _unique(self, base: str) -> str:
        name, n = base, 2
        while name in self.used:
            name, n = f"{base}_{n}", n + 1
        self.used.add(name)
        return name

    def named_classes(self) -> tuple[tuple[ClassPart, tuple[int, ...]], ...]:
        """The classes with names, and the blocks that each serves."""
        done = []
        for part, numbers in self.classes.items():
            name = self._unique(f"{camel(self.blocks.labels[numbers[0]])}Step")
            done.append(replace(part, name=name, doc=describe(self, numbers)))
        return tuple(zip(families(done, self.twins), map(tuple, self.groups), strict=True))

    def rows(self, classes: tuple[tuple[ClassPart, tuple[int, ...]], ...]) -> tuple[str, ...]:
        """Rows of the table of blocks but the last: a class and the path of the block's module."""
        names = {n: part.name for part, numbers in classes for n in numbers}
        return rows([(names[n], self.blocks.prefixes[n]) for n in range(len(self.chain.blocks) - 1)])
