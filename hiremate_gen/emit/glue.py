"""From the schedule to the pieces of the file: functions, the autograd Functions that call them, the new forward."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, field, replace

from hiremate_gen.emit.functions import Function, write
from hiremate_gen.emit.names import RESERVED, Names, identifier, static_values
from hiremate_gen.emit.parts import ApplyPart, ClassPart, FunctionPart, StepPart, WeightsPart
from hiremate_gen.emit.slots import Slots, relative
from hiremate_gen.ir import Block, Call, Chain, Graph, Schedule

_PHASES = {"forward": "Forward", "recompute": "Part of the forward again", "backward": "Gradients"}


@dataclass
class Glue:
    """Builds the parts block by block; equal text is written once."""

    graph: Graph
    chain: Chain
    schedule: Schedule
    reserved: frozenset[str]
    receiver: str  # how forward calls the model: "self"
    unindexed: frozenset[str] = frozenset()  # see `attribute`
    names: tuple[Names, ...] = field(init=False)
    prefixes: tuple[str, ...] = field(init=False)
    statics: tuple[tuple[str, ...], ...] = field(init=False)  # parameters and constants of each block
    states: tuple[tuple[str, ...], ...] = field(init=False)  # buffers that its forward writes
    slots: Slots = field(init=False)
    functions: dict[str, dict[tuple[object, ...], FunctionPart]] = field(default_factory=dict)
    weights: dict[tuple[object, ...], WeightsPart] = field(default_factory=dict)
    classes: dict[ClassPart, list[int]] = field(default_factory=dict)
    applies: list[ApplyPart] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    uses_rng: bool = False

    def __post_init__(self) -> None:
        written = {b for op in self.graph.ops for _, b in op.writes_buffer} | self._batch_norm_buffers()
        everything = [self._static_roots(number) for number in range(len(self.chain.blocks))]
        self.statics = tuple(tuple(v for v in vs if v not in written) for vs in everything)
        self.states = tuple(tuple(v for v in vs if v in written) for vs in everything)
        self.prefixes = tuple(self._prefix(b, vs) for b, vs in zip(self.chain.blocks, everything, strict=True))
        self.names = tuple(Names(self.graph, b, p) for b, p in zip(self.chain.blocks, self.prefixes, strict=True))
        self.slots = Slots(self.graph, self.chain, self.names)
        self.used = set(self.reserved | RESERVED)

    def _batch_norm_buffers(self) -> set[str]:
        """Batch norm writes its running statistics without being asked."""
        return {
            name
            for op in self.graph.ops
            if op.again_args is not None
            for name in op.inputs
            if self.graph.index[name].kind == "buffer"
        }

    def _static_roots(self, number: int) -> tuple[str, ...]:
        """Parameters and buffers of a block: what its ops read, and whose gradients they make."""
        block = self.chain.blocks[number]
        ops = (*block.forward, *block.backward)
        found = dict.fromkeys(v for v in static_values(self.graph, ops) if self.graph.index[v].kind != "input")
        for parameter, gradient in self.graph.gradients:
            if self.gradient_block(parameter, gradient) == number and self.graph.index[parameter].kind != "input":
                found[parameter] = None
        return tuple(found)

    def gradient_block(self, parameter: str, gradient: str) -> int:
        """The block whose Function hands this gradient to autograd."""
        maker = self.graph.producer.get(self.graph.index[gradient].root)
        for number, block in enumerate(self.chain.blocks):
            if maker in block.backward:
                return number
        readers = [n for n, b in enumerate(self.chain.blocks) if parameter in static_values(self.graph, b.forward)]
        return readers[0] if readers else 0

    def _prefix(self, block: Block, statics: tuple[str, ...]) -> str:
        paths = [self.graph.index[v].path for v in statics if self.graph.index[v].kind != "constant"]
        return block.name if any(p.startswith(block.name + ".") for p in paths) else ""

    # ---- blocks ------------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Walk the schedule and fill the parts."""
        calls: dict[int, list[Call]] = {n: [] for n in range(len(self.chain.blocks))}
        forward: dict[int, Call] = {}
        waiting: list[Call] = []
        for call in self.schedule.calls:
            if call.phase == "forward":
                forward[call.block] = call
                continue
            waiting.append(call)
            if call.phase == "backward":
                calls[call.block] = waiting
                waiting = []
        again = {c.block for number, group in calls.items() for c in group if c.block != number}
        for number in range(len(self.chain.blocks)):
            part = self._class(number, forward[number], calls[number], number in again)
            self._place(number, part)

    def _class(self, number: int, forward: Call, backward: list[Call], shared: bool) -> ClassPart:
        last = number == len(self.chain.blocks) - 1
        weights = self._weights(number, self.statics[number], "Weights")
        buffers = self._weights(number, self.states[number], "Buffers")
        inputs = tuple(p for p, g in self.graph.gradients if self._is_input(p) and self.gradient_block(p, g) == number)
        outputs = [o.value for o in self.graph.outputs if o.value is not None] if last else []
        front = self._step(number, forward, tuple(dict.fromkeys(outputs)))
        arrivals = self._arrivals() if last else {}
        steps = tuple(self._step(number, c, ()) for c in backward if c.steps or self._hands_gradients(number, c))
        mine = [(p, g) for p, g in self.graph.gradients if self.gradient_block(p, g) == number]
        grads = dict(reversed(mine))  # the first part of each
        further = [(p, g) for p, g in mine if grads[p] != g and not self._is_input(p)]
        own = self.names[number]
        token = f"{next(iter(arrivals.values()))}.new_empty(0)" if last else "token"
        returned = [token, "None", "None", *(["None"] if buffers else [])]
        returned += [f"grad_{identifier(self.graph.index[p].path)}" for p in inputs]
        returned += [own[grads[p]] if p in grads else "None" for p in self.statics[number]]
        returned += [own[g] for _, g in further]
        planned = {o.value for o in self.graph.outputs if o.grad is not None}
        output_names = self.output_names()
        return ClassPart(
            name="",
            doc="",
            weights=weights,
            buffers=buffers,
            repeats=tuple(own[p] for p, _ in further),
            inputs=tuple(own[p] for p in inputs),
            last=last,
            shares_weights=shared and bool(weights),
            forward=(front,),
            outputs=tuple(own[o] + (".detach()" if self._waits(forward, o) else "") for o in outputs),
            grad_outputs=tuple(f"grad_{n}" for n in output_names) if last else ("token",),
            unplanned=tuple((f"grad_{n}", n) for n, o in zip(output_names, outputs, strict=False) if o not in planned),
            expected=tuple((f"grad_{n}", n) for n, o in zip(output_names, outputs, strict=False) if o in planned),
            stores=tuple((f'"{t}"', a) for t, a in arrivals.items() if self._leaves_last(t)),
            backward=steps,
            gradients=tuple(returned),
        )

    def _waits(self, call: Call, output: str) -> bool:
        """Whether `live` has this output too: returned as it is it would keep the step, which keeps it, alive."""
        return self.graph.index[output].root not in call.results or self._read_later(call, output)

    def _is_input(self, value: str) -> bool:
        return self.graph.index[value].kind == "input"

    def _hands_gradients(self, number: int, call: Call) -> bool:
        return call.phase == "backward" and any(self.gradient_block(p, g) == number for p, g in self.graph.gradients)

    def output_names(self) -> list[str]:
        """Names of the tensors that the model returns, for its last Function."""
        own, taken = self.names[-1], []
        for output in self.graph.outputs:
            if output.value is not None:
                taken.append(own[output.value])
        return taken

    def _arrivals(self) -> dict[str, str]:
        """Tangent -> the argument of the last backward that brings it."""
        names = iter(self.output_names())
        arrivals = {}
        for output in self.graph.outputs:
            if output.value is not None:
                name = next(names)
                if output.grad is not None:
                    arrivals[output.grad] = f"grad_{name}"
        return arrivals

    def _leaves_last(self, tangent: str) -> bool:
        """Whether an earlier block's backward reads a gradient that arrives at the last."""
        return any(tangent in self.graph.reads[op] for block in self.chain.blocks[:-1] for op in block.backward) or any(
            self.graph.index[g].root == tangent for _, g in self.graph.gradients
        )

    # ---- calls -------------------------------------------------------------------------------------------------

    def _step(self, number: int, call: Call, outputs: tuple[str, ...]) -> StepPart:
        made = {r for step in call.steps for r in self.graph.writes[step.op]}
        gradients: tuple[str, ...] = ()
        if call.phase == "backward":
            gradients = tuple(g for p, g in self.graph.gradients if self.gradient_block(p, g) == number)
        extra = outputs or gradients
        served = frozenset(self.graph.index[v].root for v in extra if not self._read_later(call, v))
        function = write(self.graph, call, self.names[call.block], self._tuples(call.block), extra, served & made)
        self.uses_rng |= function.uses_rng
        taken = ", ".join(self._argument(number, call, v) for v in function.taken)
        arguments = [f"[{taken}]"] if taken else []
        arguments += [self._argument(number, call, v) for v in function.borrowed]
        other = call.block != number and "weights" in function.tuples
        weights = f"weights_{self._offset(call.block, number)}" if other else "weights"
        arguments += [weights if name == "weights" else name for name in function.tuples]
        return StepPart(
            weights=f'{weights} = live["weights", {relative(call.block, number)}]' if other else "",
            targets=tuple(self._target(number, call, v, v in extra) for v in function.result_values),
            function=self._function(call, function),
            arguments=tuple(arguments),
            after=tuple(
                f"live[{self.slots.key(o, number)}] = {self.names[number][o]}"
                for o in outputs
                if o in call.results and self._read_later(call, o)
            ),
        )

    def _tuples(self, number: int) -> dict[str, str]:
        """Static value -> the named tuple in which the functions of a block get it."""
        return dict.fromkeys(self.statics[number], "weights") | dict.fromkeys(self.states[number], "buffers")

    def _offset(self, block: int, number: int) -> str:
        return f"{number - block}_before" if block < number else f"{block - number}_after"

    def _read_later(self, call: Call, gradient: str) -> bool:
        root = self.graph.index[gradient].root
        mine = {step.op for step in call.steps}
        return any(root in self.graph.reads[op.name] for op in self.graph.computes if op.name not in mine)

    def _target(self, number: int, call: Call, value: str, extra: bool) -> str:
        if extra:
            return self.names[number][value]
        return f"live[{self.slots.key(value, number)}]"

    def _argument(self, number: int, call: Call, value: str) -> str:
        v = self.graph.index[value]
        if v.kind == "input":
            return f'live["{input_slot(v.path)}"]'
        if v.kind == "tangent":
            last = number == len(self.chain.blocks) - 1
            return self._arrivals()[value] if last else f'live["{value}"]'
        key = self.slots.key(value, number)
        return f"live.take({key_tuple(key)})" if value in call.takes else f"live[{key}]"

    def _function(self, call: Call, function: Function) -> str:
        """The name of the function with this text."""
        block = self.chain.blocks[call.block]
        first = self.chain.blocks[block.twin]
        group = self.functions.setdefault(first.name, {})
        text = (function.parameters, function.body, function.results)
        if text not in group:
            base = f"{snake(first)}_{call.phase}"
            kind = block.kind or block.name
            part = FunctionPart(
                self._unique(base),
                f"{_PHASES[call.phase]} of {kind}.",
                function.parameters,
                function.body,
                function.results,
                call.phase,
            )
            group[text] = part
        return group[text].name

    def _unique(self, base: str) -> str:
        name, n = base, 2
        while name in self.used:
            name, n = f"{base}_{n}", n + 1
        self.used.add(name)
        return name

    def _weights(self, number: int, values: tuple[str, ...], suffix: str) -> str:
        if not values:
            return ""
        block = self.chain.blocks[number]
        prefix = self.prefixes[number]
        fields = tuple((self.names[number][v], self._expression(v, prefix)) for v in values)
        key = (self.chain.blocks[number].twin, suffix, fields)
        if key not in self.weights:
            name = self._unique(f"{camel(block)}{suffix}")
            what = (
                "What the functions of {} read besides activations."
                if suffix == "Weights"
                else "What {} updates in forward."
            )
            self.weights[key] = WeightsPart(name, what.format(block.kind or block.name), fields)
        return self.weights[key].name

    def _expression(self, value: str, prefix: str) -> str:
        """Source of a parameter, buffer or constant on `module`."""
        v = self.graph.index[value]
        if v.kind == "constant":
            return v.path
        if prefix and v.path.startswith(prefix + "."):
            return attribute("module", v.path.removeprefix(prefix + "."), prefix, self.unindexed)
        return attribute("model", v.path, "", self.unindexed)

    def _made(self, name: str, module: str) -> str:
        """Source that fills the named tuple `name` for one block."""
        part = next(w for w in self.weights.values() if w.name == name)
        return f"{name}.of({', '.join(self.receiver if p == 'model' else module for p in part.parameters)})"

    def _place(self, number: int, part: ClassPart) -> None:
        self.classes.setdefault(part, []).append(number)

    def named_classes(self) -> tuple[ClassPart, ...]:
        """The classes with names and instances, and the lines of forward that apply them."""
        done, names = [], {}
        for part, numbers in self.classes.items():
            base = camel(self.chain.blocks[self.chain.blocks[numbers[0]].twin])
            name = self._unique(f"{base}Step")
            names.update(dict.fromkeys(numbers, name))
            where = ", ".join(self.chain.blocks[n].name for n in numbers)
            done.append(replace(part, name=name, doc=f"{where}."))
        for number in range(len(self.chain.blocks)):
            self.applies.append(self._apply(number, names[number]))
        return tuple(done)

    def _apply(self, number: int, cls: str) -> ApplyPart:
        part = next(p for p, numbers in self.classes.items() if number in numbers)
        prefix = self.prefixes[number]
        module = f'{self.receiver}.get_submodule("{prefix}")' if prefix else self.receiver
        inputs = [
            self.graph.index[p].path
            for p, g in self.graph.gradients
            if self._is_input(p) and self.gradient_block(p, g) == number
        ]
        made = {name: self._made(name, module) for name in (part.buffers, part.weights) if name}
        arguments = [made[part.buffers]] if part.buffers else []
        arguments += inputs
        arguments += [f"*{made[part.weights]}"] if part.weights else []
        arguments += [f"{made[part.weights]}.{name}" for name in part.repeats]
        targets = ", ".join(self.output_names()) if part.last else "token"
        return ApplyPart(targets, cls, number, tuple(arguments))


def key_tuple(key: str) -> str:
    """A subscript of two items as one argument."""
    return f"({key})" if "," in key else key


def input_slot(path: str) -> str:
    """Key of an input in `live`: its source text on the parameters of forward."""
    return path.replace('"', "'")


def attribute(owner: str, path: str, prefix: str = "", unindexed: frozenset[str] = frozenset()) -> str:
    """`h.0.ln.weight` on `owner` as Python source: numbers index, anything that is no identifier goes by getattr.

    `owner` is the module at `prefix`; those at the paths of `unindexed` call a child by a number and have no index.
    """
    text, at = owner, prefix
    for name in path.split("."):
        if name.isdigit() and at not in unindexed:
            text += f"[{name}]"
        elif name.isidentifier() and not keyword.iskeyword(name):
            text += f".{name}"
        else:
            text = f"getattr({text}, {name!r})"
        at = f"{at}.{name}" if at else name
    return text


def _label(block: Block) -> str:
    if block.kind and block.kind not in ("Sequential", "ModuleList"):
        return block.kind
    ends = [part.rsplit(".", 1)[-1] for part in block.name.split("..")]
    return identifier("_".join(dict.fromkeys(ends)))


def snake(block: Block) -> str:
    """`CausalSelfAttention` -> `causal_self_attention`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", _label(block)).lower()


def camel(block: Block) -> str:
    """`ln_f_lm_head` -> `LnFLmHead`."""
    return "".join(part[:1].upper() + part[1:] for part in _label(block).split("_") if part)
