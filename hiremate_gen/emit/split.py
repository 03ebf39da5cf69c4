"""A block whose functions would be too long, in parts: cut where its modules meet and little crosses."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    return max(dict.fromkeys(named), key=named.count) if named else "block"


def cut(graph: Graph, block: Block, parts: tuple[Part, ...], call: Call) -> dict[int, Call]:
    """Part -> its share of `call`, in the order in which they run."""
    if len(parts) == 1:
        return {0: call}
    home = {op: n for n, part in enumerate(parts) for op in block.forward[part.start : part.end]}
    if call.phase != "backward":
        shares = {n: [s for s in call.steps if home[s.op] == n] for n in range(len(parts))}
    else:
        shares = _backward_shares(graph, home, len(parts), call)
    return _calls(graph, call, {n: tuple(steps) for n, steps in shares.items() if steps})


def _backward_shares(graph: Graph, home: dict[str, int], count: int, call: Call) -> dict[int, list[Step]]:
    """From the last part to the first: each goes up to the last op that differentiates one of its own, and takes the
    sums of gradients that follow."""
    steps = list(call.steps)
    shares: dict[int, list[Step]] = {}
    for n in range(count - 1, 0, -1):
        mine = [k for k, s in enumerate(steps) if home.get(graph.op[s.op].derives or "", -1) >= n]
        end = mine[-1] + 1 if mine else 0
        while end < len(steps) and graph.op[steps[end].op].backward and graph.op[steps[end].op].derives is None:
            end += 1
        shares[n], steps = steps[:end], steps[end:]
    shares[0] = steps
    return shares


def _calls(graph: Graph, call: Call, shares: dict[int, tuple[Step, ...]]) -> dict[int, Call]:
    """What each share takes, borrows and hands on, from what dies in it."""
    found: dict[int, Call] = {}
    there = {*call.takes, *call.borrows}  # when a share starts
    for n, steps in shares.items():
        made: dict[str, None] = {}
        taken: dict[str, None] = {}
        touched: dict[str, None] = {}
        for step in steps:
            writes = graph.writes[step.op]
            touched |= {
                r: None for r in (*graph.reads[step.op], *step.frees) if r in there and r not in (*made, *writes)
            }
            made |= {r: None for r in writes if r not in step.frees}
            for root in step.frees:
                if root not in writes:
                    taken |= {root: None} if root not in made else {}
                    made.pop(root, None)
        borrowed = tuple(r for r in touched if r not in taken)
        found[n] = Call(call.phase, call.block, steps, tuple(taken), borrowed, tuple(made), call.peak_bytes)
        there = (there - set(taken)) | set(made)
    return _handed_over(call, found)


def _handed_over(call: Call, shares: dict[int, Call]) -> dict[int, Call]:
    """What `call` takes without freeing it is the model's to return: the last share that reads it takes it."""
    for root in call.takes:
        if not any(root in share.takes for share in shares.values()):
            readers = [n for n, share in shares.items() if root in share.borrows] or [next(reversed(shares))]
            share = shares[readers[-1]]
            borrows = tuple(r for r in share.borrows if r != root)
            shares[readers[-1]] = replace(share, takes=(*share.takes, root), borrows=borrows)
    return shares
