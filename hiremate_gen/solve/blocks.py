"""One block as a net of its own: the rest of the network is three ops, `start`, `middle` and `end`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from hiremate_gen.ir import Chain
from hiremate_gen.solve.net import Net


@dataclass(frozen=True, slots=True)
class Local:
    """A block's net.  Op 0 makes the input, op `middle` reads the output and makes its gradient, the last op reads the
    gradient of the input.  `ops` maps its ops to those of the whole net (-1 for the three)."""

    net: Net
    ops: tuple[int, ...]
    input: int  # root, -1 when the block has none
    output: int
    grad_output: int

    @property
    def middle(self) -> int:
        return self.net.n_forward

    def with_rest(self, work: int) -> Net:
        """The net when the rest of the network needs `work` bytes."""
        return replace(self.net, work=(*self.net.work[: self.middle], work, *self.net.work[self.middle + 1 :]))

    def unowned(self) -> Net:
        """The net when somebody else pays for the input."""
        if self.input < 0:
            return self.net
        size = tuple(0 if r == self.input else b for r, b in enumerate(self.net.size))
        return replace(self.net, size=size, out=(0, *self.net.out[1:]))

    def bytes(self, root: int) -> int:
        return self.net.size[root] if root >= 0 else 0


@dataclass(frozen=True, slots=True)
class Cuts:
    """The chain over a net: its roots at the cuts, and what else is live at each position (bytes)."""

    inputs: tuple[int, ...]  # block -> root, -1 for none
    outputs: tuple[int, ...]
    grad_outputs: tuple[int, ...]
    grad_inputs: tuple[int, ...]
    crossing: frozenset[int]  # roots that belong to no single block nor cut
    forward_base: tuple[int, ...]  # block -> bytes of crossing roots from elsewhere, during its forward
    backward_base: tuple[int, ...]


def cuts(net: Net, roots: tuple[str, ...], chain: Chain) -> Cuts:
    """Find which roots cross cuts other than as a block's input, output or their gradients."""
    number = {name: k for k, name in enumerate(roots)}
    n = len(chain.blocks)

    def column(names: Iterable[str | None]) -> tuple[int, ...]:
        return tuple(number.get(name or "", -1) for name in names)

    inputs, outputs = column(b.input for b in chain.blocks), column(b.output for b in chain.blocks)
    grad_outputs, grad_inputs = column(b.grad_output for b in chain.blocks), column(b.grad_input for b in chain.blocks)
    place = [b if o < net.n_forward else 2 * n - 1 - b for o, b in enumerate(net.block)]
    made, last, touch = [0] * len(net.size), [0] * len(net.size), [set[int]() for _ in net.size]
    for o in range(net.n_ops):
        for r in (*net.writes[o], *net.reads[o]):
            last[r] = max(last[r], place[o])
            touch[r].add(net.block[o])
    at_cuts = {*inputs, *outputs, *grad_outputs, *grad_inputs}
    at_cut = {r for r in at_cuts if r >= 0 and len(touch[r]) <= 2}
    crossing = frozenset(r for r in range(len(net.size)) if r in net.held or (len(touch[r]) > 1 and r not in at_cut))
    base = [0] * (2 * n)
    for r in sorted(crossing):
        made[r] = place[net.producer[r]] if net.producer[r] >= 0 else -1
        for p in range(made[r] + 1, 2 * n if r in net.held else last[r] + 1):
            base[p] += net.size[r]
    return Cuts(inputs, outputs, grad_outputs, grad_inputs, crossing, tuple(base[:n]), tuple(reversed(base[n:])))


def local(net: Net, cut: Cuts, block: int) -> Local:
    """The net of one block; `base` is 0 and roots made elsewhere weigh nothing."""
    forward = [o for o in range(net.n_forward) if net.block[o] == block]
    backward = [o for o in range(net.n_forward, net.n_ops) if net.block[o] == block]
    ops = (-1, *forward, -1, *backward, -1)
    x, y, gy, gx = (c[block] for c in (cut.inputs, cut.outputs, cut.grad_outputs, cut.grad_inputs))
    mine = {r for o in (*forward, *backward) for r in (*net.reads[o], *net.writes[o])} | {
        r for r in (x, y, gy, gx) if r >= 0
    }
    roots = sorted(mine)
    number = {r: k for k, r in enumerate(roots)} | {-1: -1}
    made = {r for o in (*forward, *backward) for r in net.writes[o]}
    pads = [r for o in forward for r in net.writes[o] if r in cut.crossing]  # counted by position after this forward
    pad = {r: len(roots) + k for k, r in enumerate(pads)}
    size = [net.size[r] if (r in made and r not in pad) or r in (x, gy) else 0 for r in roots] + [
        net.size[r] for r in pads
    ]
    # Whatever is made elsewhere is there from the start, or once the rest of the network has run its backward.
    elsewhere = [r for r in roots if r not in made]
    later = [r for r in elsewhere if r == gy or (r != x and not _comes_before(net, r, block))]
    first = [r for r in elsewhere if r not in later]
    empty: tuple[int, ...] = ()

    def keep(*rs: int) -> tuple[int, ...]:
        return tuple(number[r] for r in rs if r >= 0)

    reads = [empty, *(keep(*net.reads[o]) for o in forward), (*keep(y), *pad.values())]
    reads += [*(keep(*net.reads[o]) for o in backward), keep(gx)]
    writes = [keep(*first), *((*keep(*net.writes[o]), *(pad[r] for r in net.writes[o] if r in pad)) for o in forward)]
    writes += [keep(*later), *(keep(*net.writes[o]) for o in backward), empty]
    producer = [-1] * len(size)
    for o, rs in enumerate(writes):
        for r in rs:
            producer[r] = o
    n_forward = len(forward) + 1

    def per_op(values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(values[o] if o >= 0 else 0 for o in ops)

    held = {number[r] for r in roots if (r in net.held or r in cut.crossing) and r in made and r not in pad}
    result = Net(
        n_forward=n_forward,
        reads=tuple(reads),
        writes=tuple(writes),
        inplace=tuple(keep(*(r for r in net.inplace[o] if r in number)) if o >= 0 else empty for o in ops),
        time_s=tuple(net.time_s[o] if o >= 0 else 0.0 for o in ops),
        work=per_op(net.work),
        recomputable=tuple(o >= 0 and net.recomputable[o] for o in ops),
        block=tuple(-1 if k in (n_forward, len(ops) - 1) else 0 for k in range(len(ops))),
        gate=tuple(-1 for _ in ops),
        size=tuple(size),
        held=frozenset(held),
        base=0,
        producer=tuple(producer),
        out=tuple(sum(size[r] for r in rs) for rs in writes),
    )
    return Local(result, ops, number[x], number[y], number[gy])


def _comes_before(net: Net, root: int, block: int) -> bool:
    """Whether a root of another block is there when `block` runs forward."""
    made = net.producer[root]
    return made < net.n_forward and (made < 0 or net.block[made] <= block)
