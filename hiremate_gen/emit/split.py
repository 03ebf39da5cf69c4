"""A block whose functions would be too long, in parts: cut where its modules meet and little crosses."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hiremate_gen.emit.identifiers import identifier
from hiremate_gen.ir import Block, Call, Graph, Step

SHORTEST = 5  # ops of a part


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


def _crossing(graph: Graph, ops: tuple[str, ...], at: int) -> int:
    """Roots made before `at` that ops after it read."""
    made = {r for op in ops[:at] for r in graph.writes[op]}
    return len({r for op in ops[at:] for r in graph.reads[op] if r in made})


def _child(module: str, prefix: str) -> str:
    inside = module.removeprefix(prefix).removeprefix(".") if prefix else module
    return inside.partition(".")[0]


def _main(children: list[str]) -> str:
    """The module with most ops; those of the block itself say little."""
    named = [c for c in children if c]
    return identifier(max(dict.fromkeys(named), key=named.count)) if named else "block"


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
    return _handed_over(call, found)


def _handed_over(call: Call, shares: list[tuple[int, Call]]) -> list[tuple[int, Call]]:
    """What `call` takes without freeing it is the model's to return: the last share that reads it takes it."""
    for root in call.takes:
        if not any(root in share.takes for _, share in shares):
            readers = [k for k, (_, share) in enumerate(shares) if root in share.borrows] or [len(shares) - 1]
            part, share = shares[readers[-1]]
            borrows = tuple(r for r in share.borrows if r != root)
            shares[readers[-1]] = part, replace(share, takes=(*share.takes, root), borrows=borrows)
    return shares
