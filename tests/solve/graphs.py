"""Synthetic graphs and chains: small random ones, a transformer, a U-Net."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from hiremate_gen.ir import Block, Chain, Graph, Op, Output, Ref, Value


@dataclass
class Maker:
    """Collects forward ops and derives backward ops from them, as autograd would."""

    values: dict[str, Value] = field(default_factory=dict)
    forward: list[Op] = field(default_factory=list)
    backward: list[Op] = field(default_factory=list)
    params: dict[str, str] = field(default_factory=dict)

    def value(self, name: str, size: int, kind: str = "activation") -> str:
        self.values[name] = Value(name, (max(size // 4, 1),), (1,), "float32", kind, name, size)
        return name

    def op(self, name: str, reads: list[str], size: int, time_s: float = 1.0, **more: object) -> str:
        out = self.value(name, size)
        args = tuple(Ref(r) for r in reads)
        self.forward.append(Op("f_" + name, "aten.f", args, (), (out,), False, False, time_s=time_s, **more))  # type: ignore[arg-type]
        return out

    def back(
        self, name: str, reads: list[str], outs: list[tuple[str, int]], time_s: float = 1.0, work: int = 0
    ) -> None:
        for out, size in outs:
            self.value(out, size, "gradient")
        args = tuple(Ref(r) for r in reads)
        names = tuple(o for o, _ in outs)
        self.backward.append(
            Op("b_" + name, "aten.b", args, (), names, False, True, time_s=time_s, workspace_bytes=work)
        )

    def graph(self, loss: str, tangent: str, gradients: dict[str, str]) -> Graph:
        order = {v: k for k, v in enumerate(self.values)}
        return Graph(
            tuple(sorted(self.values.values(), key=lambda v: order[v.name])),
            (*self.forward, *self.backward),
            (Output(loss, tangent),),
            tuple(gradients.items()),
        )


def transformer(
    n: int = 4, width: int = 1000, attn: int = 4000, times: dict[str, float] | None = None
) -> tuple[Graph, Chain]:
    """`n` blocks of 12 forward ops: norm, qkv, attention, projection, add, norm, fc, gelu, projection, add."""
    m, t = Maker(), {"mm": 8.0, "attn": 12.0, "el": 1.0} | (times or {})
    m.value("x", width, "input")
    m.value("tangent", 4, "tangent")
    h = m.op("emb", ["x"], width, t["el"])
    blocks = []
    grads: dict[str, str] = {}
    backs: list[list[Op]] = []
    for k in range(n):
        p, fstart = f"l{k}_", len(m.forward)
        params = {q: m.value(p + q, s, "parameter") for q, s in (("w1", 400), ("w2", 200), ("w3", 800), ("w4", 800))}
        n1 = m.op(p + "n1", [h], width, t["el"])
        qkv = m.op(p + "qkv", [n1, params["w1"]], 3 * width, 3 * t["mm"])
        sc = m.op(p + "scores", [qkv], attn, t["attn"])
        pr = m.op(p + "probs", [sc], attn, t["el"])
        av = m.op(p + "av", [pr, qkv], width, t["attn"])
        pj = m.op(p + "proj", [av, params["w2"]], width, t["mm"])
        r1 = m.op(p + "r1", [h, pj], width, t["el"])
        n2 = m.op(p + "n2", [r1], width, t["el"])
        fc = m.op(p + "fc", [n2, params["w3"]], 4 * width, 4 * t["mm"])
        ge = m.op(p + "gelu", [fc], 4 * width, t["el"])
        pj2 = m.op(p + "proj2", [ge, params["w4"]], width, 4 * t["mm"])
        out = m.op(p + "out", [r1, pj2], width, t["el"])
        g = f"g{k + 1}"
        m.backward = []
        m.back(p + "proj2_w", [g, ge], [(p + "dw4", 800)], 4 * t["mm"])
        m.back(p + "proj2_x", [g, params["w4"]], [(p + "dge", 4 * width)], 4 * t["mm"])
        m.back(p + "gelu", [p + "dge", fc], [(p + "dfc", 4 * width)], t["el"])
        m.back(p + "fc_w", [p + "dfc", n2], [(p + "dw3", 800)], 4 * t["mm"])
        m.back(p + "fc_x", [p + "dfc", params["w3"]], [(p + "dn2", width)], 4 * t["mm"])
        m.back(p + "n2", [p + "dn2", r1], [(p + "dr1", width)], t["el"])
        m.back(p + "add1", [g, p + "dr1"], [(p + "ds", width)], t["el"])
        m.back(p + "proj_w", [p + "ds", av], [(p + "dw2", 200)], t["mm"])
        m.back(p + "proj_x", [p + "ds", params["w2"]], [(p + "dav", width)], t["mm"])
        m.back(p + "av", [p + "dav", pr, qkv], [(p + "dpr", attn), (p + "dv", width)], 2 * t["attn"])
        m.back(p + "probs", [p + "dpr", pr], [(p + "dsc", attn)], t["el"])
        m.back(p + "scores", [p + "dsc", qkv], [(p + "dqk", 2 * width)], 2 * t["attn"])
        m.back(p + "cat", [p + "dqk", p + "dv"], [(p + "dqkv", 3 * width)], t["el"])
        m.back(p + "qkv_w", [p + "dqkv", n1], [(p + "dw1", 400)], 3 * t["mm"])
        m.back(p + "qkv_x", [p + "dqkv", params["w1"]], [(p + "dn1", width)], 3 * t["mm"])
        m.back(p + "n1", [p + "dn1", h], [(p + "dh", width)], t["el"])
        m.back(p + "add", [p + "ds", p + "dh"], [(f"g{k}", width)], t["el"])
        backs.append(m.backward)
        for q, s in (("w1", "dw1"), ("w2", "dw2"), ("w3", "dw3"), ("w4", "dw4")):
            grads[p + q] = p + s
        forward = tuple(o.name for o in m.forward[fstart:])
        blocks.append(Block(f"h.{k}", "Layer", forward, tuple(o.name for o in m.backward), h, out, g, f"g{k}", 1))
        h = out
    m.value("wh", 2000, "parameter")
    fstart = len(m.forward)
    logits = m.op("logits", [h, "wh"], 6 * width, 10 * t["mm"])
    loss = m.op("loss", [logits], 4, t["el"])
    m.backward = []
    m.back("loss", ["tangent", logits], [("dlogits", 6 * width)], t["el"])
    m.back("head_w", ["dlogits", h], [("dwh", 2000)], 10 * t["mm"])
    m.back("head_x", ["dlogits", "wh"], [(f"g{n}", width)], 10 * t["mm"])
    head = Block(
        "head",
        "Head",
        tuple(o.name for o in m.forward[fstart:]),
        tuple(o.name for o in m.backward),
        h,
        None,
        None,
        f"g{n}",
        n + 1,
    )
    last = m.backward
    m.value("we", 1000, "parameter")
    m.backward = []
    m.back("emb", ["g0", "x"], [("dwe", 1000)], t["el"])
    emb = Block("emb", "Embedding", ("f_emb",), ("b_emb",), None, "emb", "g0", None, 0)
    m.backward = [*last, *(o for ops in reversed(backs) for o in ops), *m.backward]
    grads |= {"wh": "dwh", "we": "dwe"}
    return m.graph(loss, "tangent", grads), Chain((emb, *blocks, head))


def unet(depth: int = 4, width: int = 4096) -> tuple[Graph, Chain]:
    """One block without separators: down path, up path, a skip at every level."""
    m = Maker()
    m.value("x", width, "input")
    m.value("tangent", 4, "tangent")
    tape: list[tuple[str, list[str], int, float, bool]] = []  # out, reads, size, time, reads inputs in backward

    def op(name: str, reads: list[str], size: int, time_s: float) -> str:
        m.op(name, reads, size, time_s)
        tape.append((name, reads, size, time_s, time_s < 4.0))
        return name

    h, skips = op("in", ["x"], width, 8.0), []
    for d in range(depth):
        size = width >> d
        for c in range(2):
            h = op(f"d{d}c{c}", [h], size, 8.0)
            h = op(f"d{d}n{c}", [h], size, 1.0)
            h = op(f"d{d}r{c}", [h], size, 0.5)
        skips.append(h)
        h = op(f"d{d}pool", [h], size // 2, 0.5)
    for d in reversed(range(depth)):
        size = width >> d
        h = op(f"u{d}up", [h], size, 4.0)
        h = op(f"u{d}cat", [h, skips[d]], 2 * size, 1.0)
        for c in range(2):
            h = op(f"u{d}c{c}", [h], size, 8.0)
            h = op(f"u{d}n{c}", [h], size, 1.0)
            h = op(f"u{d}r{c}", [h], size, 0.5)
    op("loss", [h], 4, 0.5)
    return finish(m, tape)


def finish(m: Maker, tape: list[tuple[str, list[str], int, float, bool]]) -> tuple[Graph, Chain]:
    """Backward of a tape: each op's gradient reads its inputs (and its output when marked); fan-out adds up."""
    gradient: dict[str, str] = {tape[-1][0]: "tangent"}
    sizes = {name: size for name, _, size, _, _ in tape}
    for name, reads, _, time_s, own in reversed(tape):
        g = gradient.get(name)
        if g is None:
            continue
        wanted = [r for r in dict.fromkeys(reads) if r in sizes]
        outs = [(f"d_{name}_{r}", sizes[r]) for r in wanted]
        m.back(name, [g, *reads, *([name] if own else [])], outs or [(f"d_{name}_end", 4)], 2 * time_s)
        for r, (out, size) in zip(wanted, outs, strict=False):
            if r in gradient:
                total = f"s_{name}_{r}"
                m.back(f"sum_{name}_{r}", [gradient[r], out], [(total, size)], 0.5)
                gradient[r] = total
            else:
                gradient[r] = out
    ends = [v for v in m.values if v.endswith("_end")]
    graph = m.graph(tape[-1][0], "tangent", {"x": ends[0]} if ends else {})
    block = Block(
        "net", "Net", tuple(o.name for o in m.forward), tuple(o.name for o in m.backward), None, None, None, None, 0
    )
    return graph, Chain((block,))


def small(seed: int, n: int = 5) -> tuple[Graph, Chain]:
    """One block of `n` random forward ops."""
    rng = random.Random(seed)
    m = Maker()
    m.value("x", 8, "input")
    m.value("tangent", 4, "tangent")
    tape: list[tuple[str, list[str], int, float, bool]] = []
    for k in range(n):
        earlier = [f"v{j}" for j in range(k)] or ["x"]
        reads = sorted({earlier[-1], *(rng.choice(earlier) for _ in range(rng.randint(0, 1)))})
        size, time_s = 4 * rng.randint(1, 30), float(rng.randint(1, 9))
        m.op(f"v{k}", reads, size, time_s, workspace_bytes=4 * rng.randint(0, 4))
        tape.append((f"v{k}", reads, size, time_s, rng.random() < 0.5))
    return finish(m, tape)


def mark(graph: Graph, ops: set[str], **change: object) -> Graph:
    """The same graph with some ops changed."""
    done = tuple(replace(o, **change) if o.name in ops else o for o in graph.ops)  # type: ignore[arg-type]
    return Graph(graph.values, done, graph.outputs, graph.gradients)


def odd(seed: int) -> tuple[Graph, Chain]:
    """A chain of random blocks with what real graphs have now and then: blocks without backward, ops without inputs or
    without outputs, results that nothing reads, several results, values and gradients that skip blocks, results that
    are returned as they are, ops that run once, storage taken over, several parts of one gradient."""
    rng = random.Random(seed)
    m = Maker()
    m.value("x", 8, "input")
    m.value("tangent", 4, "tangent")
    n, made, h = rng.randint(1, 4), list[str](), "x"
    frozen = rng.randint(0, n - 1)
    forward: list[list[Op]] = []
    main: list[list[tuple[str, list[str]]]] = []
    for b in range(n):
        main.append([])
        for k in range(rng.randint(1, 4)):
            reads = [h, *rng.sample(made, min(len(made), rng.randint(0, 2)))]
            name = f"v{b}_{k}"
            m.op(name, [r for r in reads if r], 4 * rng.randint(1, 30), float(rng.randint(0, 9)))
            change: dict[str, object] = {"workspace_bytes": 4 * rng.randint(0, 4), "recomputable": rng.random() < 0.8}
            if rng.random() < 0.3:
                extra = m.value(name + "_2", 4 * rng.randint(0, 20)) if rng.random() < 0.7 else None
                change["outputs"] = (name, extra)
                made += [extra] if extra and rng.random() < 0.6 else []
            if rng.random() < 0.3 and h != "x":
                change["inplace"] = (h,)
            m.forward[-1] = replace(m.forward[-1], **change)  # type: ignore[arg-type]
            main[-1].append((name, reads))
            made.append(name)
            h = name
            if rng.random() < 0.2:
                m.op(name + "_c", [], 4 * rng.randint(1, 9))
                made.append(name + "_c")
            if rng.random() < 0.1:
                m.op(name + "_n", [h], 4)
                m.forward[-1] = replace(m.forward[-1], outputs=(None,) * rng.randint(0, 1))
        forward.append(m.forward[sum(map(len, forward)) :])
    g, carried, gradients = "tangent", list[str](), list[tuple[str, str]]()
    backward: list[list[Op]] = [[] for _ in range(n)]
    m.value("w", 8, "parameter")
    entering = [""] * n  # the gradient that arrives at each block, and the one that leaves it
    leaving = [""] * n
    for b in reversed(range(frozen, n)):
        entering[b], m.backward = g, []
        for name, reads in reversed(main[b]):
            some = [r for r in (*reads, name) if rng.random() < 0.6]
            some += rng.sample(carried, min(len(carried), rng.randint(0, 1)))
            outs = [("d" + name, 4 * rng.randint(1, 30))]
            if rng.random() < 0.3:
                outs.append((f"w{name}", 8))
                gradients.append(("w" if rng.random() < 0.5 else f"p{name}", f"w{name}"))
            if rng.random() < 0.3:
                outs.append((f"e{name}", 4 * rng.randint(1, 9)))
                carried.append(f"e{name}")
            m.back(name, [g, *some], outs, float(rng.randint(0, 9)), 4 * rng.randint(0, 4))
            g = "d" + name
        leaving[b], backward[b] = g, m.backward
    for p in {p for p, _ in gradients if p != "w"}:
        m.value(p, 8, "parameter")
    outputs = [Output(h, "tangent"), *(Output(v) for v in made if rng.random() < 0.1 and v != h)]
    ops = (*m.forward, *(o for b in reversed(range(n)) for o in backward[b]))
    graph = Graph(tuple(m.values.values()), ops, tuple(outputs), tuple(gradients))
    ends = [main[b][-1][0] for b in range(n)]
    blocks = [
        Block(
            name=f"b{b}",
            kind="B",
            forward=tuple(o.name for o in forward[b]),
            backward=tuple(o.name for o in backward[b]),
            input=ends[b - 1] if b > frozen else None,
            output=ends[b] if frozen <= b < n - 1 else None,
            grad_output=entering[b] if frozen <= b < n - 1 else None,
            grad_input=leaving[b] if b > frozen else None,
            twin=b,
        )
        for b in range(n)
    ]
    return graph, Chain(tuple(blocks))
