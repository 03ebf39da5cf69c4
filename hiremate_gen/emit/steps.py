"""From the schedule to functions and to the calls of them that each block's autograd Function makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hiremate_gen.emit.blocks import Blocks, Gradient
from hiremate_gen.emit.functions import Function, Passing, write
from hiremate_gen.emit.identifiers import snake
from hiremate_gen.emit.parts import StepPart
from hiremate_gen.emit.slots import Slots, left_to, relative
from hiremate_gen.emit.split import Part, chop, cut
from hiremate_gen.ir import Call, Graph, Schedule


@dataclass(frozen=True, slots=True)
class Run:
    """A call of the schedule, or a part of one, where it runs: in forward or backward of block `number`."""

    number: int
    part: int
    call: Call
    source: int  # index of the call in the schedule
    piece: int = 0  # of several of one part, counted from 1
    pieces: int = 0  # how many these are


@dataclass
class Steps:
    """All calls in order; `parts` are those of each block."""

    blocks: Blocks
    schedule: Schedule
    parts: tuple[tuple[Part, ...], ...]
    pieces: dict[tuple[int, int, str], int]  # (twin, part, phase) -> how many functions it takes
    runs: list[Run] = field(init=False)
    slots: Slots = field(init=False)
    touched: dict[str, list[int]] = field(default_factory=dict)
    kept: dict[int, tuple[int, tuple[str, ...]]] = field(default_factory=dict)  # forward run -> run it leaves roots to
    listed: dict[int, tuple[str, ...]] = field(default_factory=dict)  # forward run -> these, and those to be dropped

    def __post_init__(self) -> None:
        self.slots = Slots(self.graph, self.blocks.chain, self.blocks.names)
        self.runs = list(self._cut())
        for k, run in enumerate(self.runs):
            for root in (*run.call.takes, *run.call.borrows):
                self.touched.setdefault(root, []).append(k)
        self._leave()

    @property
    def graph(self) -> Graph:
        return self.blocks.graph

    def of(self, number: int, forward: bool) -> list[int]:
        """Indices of the runs of a block's forward or backward."""
        return [k for k, r in enumerate(self.runs) if r.number == number and (r.call.phase == "forward") is forward]

    def _cut(self) -> Iterator[Run]:
        waiting: list[tuple[int, Call]] = []
        for source, call in enumerate(self.schedule.calls):
            waiting.append((source, call))
            if call.phase == "recompute":
                continue
            for at, c in waiting:
                if not c.steps and not (c.phase == "backward" and self.blocks.gradients[c.block]):
                    continue
                block, parts = self.blocks.chain.blocks[c.block], self.parts[c.block]
                for part, share in cut(self.graph, block, parts, c) if c.steps else [(0, c)]:
                    count = self.pieces.get((block.twin, part, share.phase), 1)
                    if count == 1 or len(share.steps) < 2 * count:
                        yield Run(call.block, part, share, at)
                        continue
                    pieces = chop(self.graph, share, count)
                    for piece, chopped in enumerate(pieces, 1):
                        yield Run(call.block, part, chopped, at, piece, len(pieces))
            waiting = []

    def _leave(self) -> None:
        """Decide which roots go from a forward straight to one backward of the same block, in a list."""
        for number, block in enumerate(self.blocks.chain.blocks):
            backward = {k: self.runs[k].call for k in self.of(number, False)}
            takes = {k: call.takes for k, call in backward.items() if call.block == number}
            for k in self.of(number, True):
                roots = [r for r in self.runs[k].call.results if r != block.output and r not in self.graph.returned]
                stay = [r for r in roots if r not in self.runs[k].call.drops]  # a dropped one is made anew
                groups = left_to(stay, self.touched, takes)
                if groups:
                    to = max(groups, key=lambda c: len(groups[c]))
                    del takes[to]
                    self.kept[k] = (to, tuple(groups[to]))
                left = (*self.kept[k][1], *self.runs[k].call.drops) if k in self.kept else self.runs[k].call.drops
                self.listed[k] = tuple(r for r in roots if r in left)

    # ---- functions ---------------------------------------------------------------------------------------------

    def passing(self, k: int, outputs: tuple[str, ...]) -> Passing:
        run = self.runs[k]
        kept = next((roots for to, roots in self.kept.values() if to == k), ())
        gradients = tuple((g.key, g.value) for g in self._gradients(k))
        made = {r for step in run.call.steps for r in self.graph.writes[step.op]}
        extra = (*outputs, *(g for _, g in gradients))
        served = {self.graph.index[v].root for v in extra if not self.read_later(run.call, v)}
        return Passing(
            taken=tuple(r for r in run.call.takes if r not in kept),
            kept=kept,
            keeps=self.listed.get(k, ()),
            gradients=gradients,
            outputs=outputs,
            served=frozenset(served & made),
        )

    def function(self, k: int, outputs: tuple[str, ...]) -> Function:
        run = self.runs[k]
        number = run.call.block
        passing = self.passing(k, outputs)
        return write(self.graph, run.call, self.blocks.names[number], self.blocks.tuples(number), passing)

    def _gradients(self, k: int) -> list[Gradient]:
        """Those that this run makes; the last run of a block's backward has those that no op makes, too."""
        run = self.runs[k]
        if run.call.phase != "backward":
            return []
        mine = [r for r in self.of(run.number, False) if self.runs[r].call.phase == "backward"]
        home = {root: r for r in mine for step in self.runs[r].call.steps for root in self.graph.writes[step.op]}
        owned = self.blocks.gradients[run.number]
        return [g for g in owned if home.get(self.graph.index[g.value].root, mine[-1]) == k]

    def read_later(self, call: Call, value: str) -> bool:
        root = self.graph.index[value].root
        return not self.graph.readers.get(root, frozenset()) <= {step.op for step in call.steps}

    # ---- calls -------------------------------------------------------------------------------------------------

    def step(
        self, k: int, function: Function, name: str, outputs: tuple[str, ...], arrivals: dict[str, str]
    ) -> StepPart:
        """The call of `function` as `name`; `arrivals` are arguments of backward that bring gradients."""
        run = self.runs[k]
        passing = self.passing(k, outputs)
        other = run.call.block != run.number and "w" in function.tuples
        weights = f"w_{_offset(run.call.block, run.number)}" if other else "w"
        arguments = [f"ctx.{self.list_name(k)}"] if passing.kept else []
        taken = ", ".join(self._argument(run, v, arrivals) for v in passing.taken)
        arguments += [f"[{taken}]"] if passing.taken else []
        arguments += [self._argument(run, v, arrivals) for v in function.borrowed]
        arguments += [weights if name_ == "w" else name_ for name_ in function.tuples]
        names = self.blocks.names[run.number]
        plain = function.results[: len(function.results) - len(outputs)]
        targets = [f"live[{self.slots.key(v, run.number)}]" for v in plain] + [names[o] for o in outputs]
        targets += [f"ctx.{self.list_name(k)}" if k in self.kept else "dropped"] if passing.keeps else []
        targets += [self.gradients_name(k)] if passing.gradients else []
        after = [
            f"live[{self.slots.key(o, run.number)}] = {names[o]}"
            for o in outputs
            if o in run.call.results and self.read_later(run.call, o)
        ]
        after += self._dropping(k, passing)
        before = f'{weights} = live["w", {relative(run.call.block, run.number)}]'
        lead = (before,) if other else ()
        return StepPart(lead, tuple(targets), self.role(k), name, tuple(arguments), tuple(after))

    def _dropping(self, k: int, passing: Passing) -> list[str]:
        """Lines that let go of what the plan does not keep."""
        run = self.runs[k]
        names = self.blocks.names[run.call.block]
        waiting = [r for r in run.call.drops if r not in passing.keeps]
        lines = [f"live.take({self.slots.key(r, run.number)})  # not needed again" for r in waiting]
        if passing.keeps and k not in self.kept:
            return [*lines, f"del dropped  # {', '.join(names[r] for r in passing.keeps)}"]
        at = [n for n, root in enumerate(passing.keeps) if root in run.call.drops]
        if not at:
            return lines
        items = ", ".join(f"ctx.{self.list_name(k)}[{n}]" for n in reversed(at))
        return [*lines, f"del {items}  # {', '.join(names[passing.keeps[n]] for n in at)}"]

    def role(self, k: int) -> str:
        """What a run does for its block: "mlp_forward"; for what runs again of others, with their distance."""
        run = self.runs[k]
        mine = [r for r in self.of(run.number, run.call.phase == "forward") if self._work(r) == self._work(k)]
        other = _offset(run.call.block, run.number) if run.call.block != run.number else ""
        part = self.parts[run.call.block][run.part].name or snake(self.blocks.kinds[run.call.block])
        number = str(mine.index(k) + 1) if len(mine) > 1 else ""
        words = (part, run.call.phase, f"piece{run.piece}" * (run.piece > 0), f"of_{other}" * bool(other), number)
        return "_".join(filter(None, words))

    def _work(self, k: int) -> tuple[int, int, str, int]:
        run = self.runs[k]
        return run.call.block, run.part, run.call.phase, run.piece

    def list_name(self, k: int) -> str:
        """The attribute of ctx that a forward run leaves its list in, for that run and the one that takes it."""
        source = k if k in self.kept else next(f for f, (to, _) in self.kept.items() if to == k)
        return "_".join(["kept", *self._suffix(source)])

    def gradients_name(self, k: int) -> str:
        """The variable for the gradients that a run makes."""
        return "_".join([*self._suffix(k), "grads"])

    def _suffix(self, k: int) -> list[str]:
        run = self.runs[k]
        parts = self.parts[run.number]
        return [parts[run.part].name] * (len(parts) > 1) + [f"piece{run.piece}"] * (run.piece > 0)

    def _argument(self, run: Run, value: str, arrivals: dict[str, str]) -> str:
        v = self.graph.index[value]
        if v.kind == "input":
            return f'live["{input_slot(v.path)}"]'
        if v.kind == "tangent":
            return arrivals.get(value) or f'live["{value}"]'
        key = self.slots.key(value, run.number)
        return f"live.take({key})" if value in run.call.takes else f"live[{key}]"


def _offset(block: int, number: int) -> str:
    return f"{number - block}_before" if block < number else f"{block - number}_after"


def input_slot(path: str) -> str:
    """Key of an input in `live`: its source text on the parameters of forward."""
    return path.replace('"', "'")
