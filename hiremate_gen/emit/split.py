"""A block whose functions would be too long, in parts: cut where its modules meet and little crosses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from hiremate_gen.emit.identifiers import identifier
from hiremate_gen.ir import Block, Call, Graph, Step

SHORTEST = 5  # ops of a part
SMALLEST = 2  # the same where a cut spares lines


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a block's forward: ops `start` to `end` of it, named after the module that most of them lie in."""

    name: str
    start: int
    end: int


def halves(graph: Graph, block: Block, prefix: str, part: Part) -> tuple[Part, Part] | None:
    """`part` in two, or None where it is too short for that.

    Where one value crosses the cut it makes two pieces that can be read alone; of such places the one nearest the
    middle, between modules if there is one.
    """
    ops = block.forward[part.start : part.end]
    places = range(SHORTEST, len(ops) - SHORTEST + 1)
    if not places:
        return None
    children = [_child(graph.op[op].origin.module, prefix) for op in ops]

    def cost(at: int) -> tuple[int, bool, bool, int]:
        inside = children[at - 1] == children[at]
        return _crossing(graph, ops, at), inside, not children[at], abs(2 * at - len(ops))

    at = min(places, key=cost)
    middle = part.start + at
    return Part(_main(children[:at]), part.start, middle), Part(_main(children[at:]), middle, part.end)


def finest(graph: Graph, block: Block, prefix: str) -> tuple[Part, ...]:
    """The parts of a block that is cut wherever one value crosses."""
    ops = block.forward
    children = [_child(graph.op[op].origin.module, prefix) for op in ops]
    edges = [0]
    for at in range(SMALLEST, len(ops) - SMALLEST + 1):
        if at - edges[-1] >= SMALLEST and _crossing(graph, ops, at) <= 1:
            edges.append(at)
    pairs = pairwise([*edges, len(ops)])
    return distinct([Part(_main(children[a:b]), a, b) for a, b in pairs]) if len(edges) > 1 else whole_block(block)


def joined(graph: Graph, block: Block, prefix: str, parts: tuple[Part, ...], at: int) -> tuple[Part, ...]:
    """`parts` less the cut before the one with the number `at`."""
    if len(parts) == 2:
        return whole_block(block)
    one, two = parts[at - 1 : at + 1]
    children = [_child(graph.op[op].origin.module, prefix) for op in block.forward[one.start : two.end]]
    return distinct([*parts[: at - 1], Part(_main(children), one.start, two.end), *parts[at + 1 :]])


def whole_block(block: Block) -> tuple[Part, ...]:
    return (Part("", 0, len(block.forward)),)


def distinct(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Parts of one module get numbers: functions are named after them."""
    plain = [re.sub(r"_part\d+$", "", part.name) for part in parts]
    found = []
    for k, (part, name) in enumerate(zip(parts, plain, strict=True)):
        number = plain[: k + 1].count(name)
        found.append(replace(part, name=f"{name}_part{number}" if plain.count(name) > 1 else name))
    return tuple(found)


def _crossing(graph: Graph, ops: Sequence[str], at: int) -> int:
    """Roots made before `at` that ops after it read."""
    made = {r for op in ops[:at] for r in graph.writes[op]}
    return len({r for op in ops[at:] for r in graph.reads[op] if r in made})


def _child(module: str, prefix: str) -> str:
    inside = module.removeprefix(prefix).removeprefix(".") if prefix else module
    return inside.partition(".")[0]


def _main(children: list[str]) -> str:
    """The module with most ops, or the first and the last; those of the block itself say little."""
    named = [c for c in children if c]
    if not named:
        return "block"
    most = max(dict.fromkeys(named), key=named.count)
    many = 2 * named.count(most) > len(named)
    return identifier(most if many else "_".join(dict.fromkeys((named[0], named[-1]))))


Share = tuple[int, str, list[Step]]  # part, phase, steps


def cut(graph: Graph, block: Block, parts: tuple[Part, ...], call: Call) -> list[tuple[int, Call]]:
    """The shares that `parts` have in `call`, in the order in which they run."""
    if len(parts) == 1:
        return [(0, call)]
    home = {op: n for n, part in enumerate(parts) for op in block.forward[part.start : part.end]}
    if call.phase != "backward":
        shares: list[Share] = [(n, call.phase, [s for s in call.steps if home[s.op] == n]) for n in range(len(parts))]
    else:
        shares = [s for share in _backward_shares(graph, home, len(parts), call) for s in _led(home, share)]
    return _calls(graph, call, [s for s in shares if s[2]])


def chop(graph: Graph, call: Call, count: int) -> list[Call]:
    """`call` in `count` pieces of about as many ops, each cut where little crosses."""
    steps = list(call.steps)
    edges = [0]
    for k in range(1, count):
        middle, slack = k * len(steps) // count, max(1, len(steps) // (4 * count))
        places = range(max(edges[-1] + 1, middle - slack), min(len(steps) - 1, middle + slack) + 1)
        edges.append(min(places, key=lambda at: _passing(graph, steps, at), default=middle))
    groups = [steps[a:b] for a, b in pairwise([*edges, len(steps)])]
    return [c for _, c in _calls(graph, call, [(0, call.phase, g) for g in groups if g])]


def _passing(graph: Graph, steps: list[Step], at: int) -> int:
    """Roots made before `at` and not freed there."""
    made = {r for s in steps[:at] for r in graph.writes[s.op]}
    return len(made - {r for s in steps[:at] for r in s.frees})


def _backward_shares(graph: Graph, home: dict[str, int], count: int, call: Call) -> list[Share]:
    """From the last part to the first: each goes up to the last op that differentiates one of its own, and takes the
    sums of gradients that follow."""
    steps = list(call.steps)
    shares: list[Share] = []
    for n in range(count - 1, 0, -1):
        mine = [k for k, s in enumerate(steps) if home.get(graph.op[s.op].derives or "", -1) >= n]
        end = mine[-1] + 1 if mine else 0
        while end < len(steps) and graph.op[steps[end].op].backward and graph.op[steps[end].op].derives is None:
            end += 1
        shares.append((n, call.phase, steps[:end]))
        steps = steps[end:]
    return [*shares, (0, call.phase, steps)]


def _led(home: dict[str, int], share: Share) -> list[Share]:
    """What runs again before the first op of backward, on its own where it is of other parts and long."""
    part, phase, steps = share
    end = next((k for k, s in enumerate(steps) if s.op not in home), len(steps))
    runs: list[Share] = []
    for step in steps[:end]:
        if not runs or runs[-1][0] != home[step.op]:
            runs.append((home[step.op], "recompute", []))
        runs[-1][2].append(step)
    apart = 0
    while apart < len(runs) and runs[apart][0] != part and len(runs[apart][2]) >= SHORTEST:
        apart += 1
    taken = sum(len(run[2]) for run in runs[:apart])
    return [*runs[:apart], (part, phase, steps[taken:])]


def _calls(graph: Graph, call: Call, shares: list[Share]) -> list[tuple[int, Call]]:
    """What each share takes, borrows and hands on, from what dies in it."""
    found: list[tuple[int, Call]] = []
    there = {*call.takes, *call.borrows}  # when a share starts
    for part, phase, steps in shares:
        made: dict[str, None] = {}
        taken: dict[str, None] = {}
        touched: dict[str, None] = {}
        for step in steps:
            writes = graph.writes[step.op]
            own = {*made, *writes}
            touched |= {r: None for r in (*graph.reads[step.op], *step.frees) if r in there and r not in own}
            made |= {r: None for r in writes if r not in step.frees}
            for root in step.frees:
                if root not in writes:
                    taken |= {root: None} if root not in made else {}
                    made.pop(root, None)
        borrowed = tuple(r for r in touched if r not in taken)
        share = Call(phase, call.block, tuple(steps), tuple(taken), borrowed, tuple(made), call.peak_bytes)
        found.append((part, share))
        there = (there - set(taken)) | set(made)
    return _dropped(call, _handed_over(call, found))


def _dropped(call: Call, shares: list[tuple[int, Call]]) -> list[tuple[int, Call]]:
    """What is dropped after `call` is dropped after the last share that has to do with it."""
    last: dict[str, int] = {}
    for k, (_, share) in enumerate(shares):
        last |= {r: k for r in (*share.borrows, *share.results) if r in call.drops}
    return [
        (part, replace(share, drops=tuple(r for r in call.drops if last[r] == k)))
        for k, (part, share) in enumerate(shares)
    ]


def _handed_over(call: Call, shares: list[tuple[int, Call]]) -> list[tuple[int, Call]]:
    """What `call` takes without freeing it is the model's to return: the last share that reads it takes it."""
    for root in call.takes:
        if not any(root in share.takes for _, share in shares):
            readers = [k for k, (_, share) in enumerate(shares) if root in share.borrows] or [len(shares) - 1]
            part, share = shares[readers[-1]]
            borrows = tuple(r for r in share.borrows if r != root)
            shares[readers[-1]] = part, replace(share, takes=(*share.takes, root), borrows=borrows)
    return shares
