"""Each type between stages as text, for --dump and for tests."""

from __future__ import annotations

from hiremate_gen.ir.chain import Chain
from hiremate_gen.ir.graph import Arg, Device, Graph, Literal, Op, Ref
from hiremate_gen.ir.plan import Plan
from hiremate_gen.ir.replay import replay
from hiremate_gen.ir.schedule import Schedule
from hiremate_gen.units import show_bytes


def show_graph(graph: Graph) -> str:
    """Values, then ops in order."""
    lines = [
        f"{v.kind:<10} {v.name}: {v.dtype}{list(v.shape)} {v.bytes} B {v.path}".rstrip()
        for v in graph.values
        if v.static and v.root == v.name
    ]
    lines += [_op(op) for op in graph.ops]
    lines += [f"returns    {o.value or o.constant}" + (f"  gradient {o.grad}" if o.grad else "") for o in graph.outputs]
    lines += [f"gradient   {graph.index[p].path} = {g}" for p, g in graph.gradients]
    return "\n".join(lines) + "\n"


def _op(op: Op) -> str:
    phase = "backward" if op.backward else "forward"
    args = ", ".join([*map(_arg, op.args), *(f"{k}={_arg(v)}" for k, v in op.kwargs)])
    marks = [m for m, on in (("view", op.view), ("random", op.random), ("once", not op.recomputable)) if on]
    text = f"{phase:<10} {', '.join(o or '_' for o in op.outputs)} = {op.target}({args})"
    cost = "" if op.view else f"  {op.time_s * 1e6:.1f} us, {op.workspace_bytes} B inside"
    return text + cost + (f"  [{', '.join(marks)}]" if marks and not op.backward else "")


def _arg(arg: Arg) -> str:
    match arg:
        case Ref(name):
            return name
        case Literal(text):
            return text
        case Device():
            return "device"
        case _:
            return f"[{', '.join(map(_arg, arg))}]"


def show_chain(chain: Chain) -> str:
    """One block a paragraph."""
    lines = []
    for number, b in enumerate(chain.blocks):
        twin = "" if b.twin == number else f" (as block {b.twin})"
        lines.append(f"block {number} {b.name} {b.kind}{twin}")
        lines.append(f"  input {b.input}, output {b.output}, gradients {b.grad_output} -> {b.grad_input}")
        lines += [f"  forward  {name}" for name in b.forward]
        lines += [f"  backward {name}" for name in b.backward]
    return "\n".join(lines) + "\n"


def show_plan(graph: Graph, chain: Chain, plan: Plan) -> str:
    """Every op with the memory while it runs and after it."""
    run = replay(graph, plan)
    lines = [f"strategy {plan.strategy}, {plan.status}", f"peak {show_bytes(run.peak_bytes)}, time {run.time_s:.6f} s"]
    segment = -1
    for m in run.moments:
        if m.segment != segment:
            segment = m.segment
            s = plan.segments[segment]
            lines.append(f"{s.phase} of {chain.blocks[s.block].name}")
        frees = f"  frees {', '.join(m.frees)}" if m.frees else ""
        lines.append(f"  {m.peak_bytes:>14} {m.after_bytes:>14}  {m.op}{' again' if m.again else ''}{frees}")
    return "\n".join(lines) + "\n"


def show_schedule(graph: Graph, chain: Chain, schedule: Schedule) -> str:
    """What each call takes, borrows and hands on."""
    lines = [f"peak {show_bytes(schedule.peak_bytes)} in {schedule.peak_op}"]
    for call in schedule.calls:
        lines.append(f"{call.phase} of {chain.blocks[call.block].name}: peak {show_bytes(call.peak_bytes)}")
        for what, roots in (
            ("takes", call.takes),
            ("borrows", call.borrows),
            ("hands on", call.results),
            ("has dropped", call.drops),
        ):
            lines += [f"  {what} {r} {show_bytes(graph.bytes(r))}" for r in roots]
    return "\n".join(lines) + "\n"
