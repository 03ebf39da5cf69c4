"""One answer for the cost of an op: from a profile where it has the op, else from the models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from torch import fx
from torch._ops import OpOverload

from hiremate_gen.graph.kinds import is_view
from hiremate_gen.graph.measure import OpCall, measure
from hiremate_gen.graph.profile import Measured, Profile, read
from hiremate_gen.graph.rates import Rates, rates_for
from hiremate_gen.graph.roofline import seconds, unit_cost
from hiremate_gen.graph.signature import signature
from hiremate_gen.graph.workspace import has_rule, workspace_bytes


@dataclass
class Costs:
    """Where costs come from: `rates` None means unit costs.  What the models had to guess is collected on the way."""

    rates: Rates | None = None
    profile: Profile | None = None
    unprofiled: set[str] = field(default_factory=set)  # signatures that the profile lacks
    unruled: set[str] = field(default_factory=set)  # targets without a workspace rule

    def of(self, call: OpCall) -> Measured:
        """Seconds (or units) and workspace bytes of one call."""
        if self.profile is not None:
            name = signature(call.target, call.args, call.kwargs)
            found = self.profile.key(name)
            if found is not None:
                return found
            self.unprofiled.add(name)
        if not has_rule(*call):
            self.unruled.add(call.target)
        time_s = unit_cost(*call) if self.rates is None else seconds(*call, self.rates)
        return Measured(time_s, workspace_bytes(*call))

    @property
    def notes(self) -> tuple[str, ...]:
        """For people: what was guessed."""
        found = []
        if self.unprofiled:
            found.append(f"the profile lacks {len(self.unprofiled)} of the ops: estimates stand in for them")
        if self.unruled:
            names = ", ".join(sorted(self.unruled))
            found.append(f"the workspace of these ops is a guess, a profile would measure it: {names}")
        return tuple(found)


def costs_for(name: str, device: str) -> Costs:
    """`unit`, `roofline`, or the path of a profile, whose gaps the roofline fills.  Raises UsageError."""
    if name == "unit":
        return Costs()
    return Costs(rates_for(device), None if name == "roofline" else read(Path(name)))


def profile(graph_module: fx.GraphModule, device: str, progress: Callable[[int, int], None] | None = None) -> Profile:
    """Measure every distinct op of a joint graph."""
    ops = [n for n in graph_module.graph.nodes if isinstance(n.target, OpOverload) and not is_view(n.target)]
    nodes = [n for n in ops if "val" in n.meta]  # assertions give nothing, and are not planned
    return measure([op_call(n) for n in nodes], device, progress=progress)


def op_call(node: fx.Node) -> OpCall:
    """The call of a node, with fake tensors in place of nodes."""
    args, kwargs = fx.map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
    return OpCall(str(node.target), args, kwargs, node.meta["val"])
