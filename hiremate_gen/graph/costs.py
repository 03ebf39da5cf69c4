"""One answer for the cost of an op: from a profile where it has the op, else from the models."""

from __future__ import annotations

from dataclasses import dataclass, field

from hiremate_gen.graph.measure import OpCall
from hiremate_gen.graph.profile import Measured, Profile
from hiremate_gen.graph.rates import Rates
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
