"""From a plan to ordered steps with frees, by exact replay; then blocks that do the same work in one form."""

from hiremate_gen.ir import Chain, Graph, Plan, Schedule
from hiremate_gen.schedule.align import aligned
from hiremate_gen.schedule.calls import calls
from hiremate_gen.schedule.late import late


def schedule(graph: Graph, chain: Chain, plan: Plan) -> Schedule:
    """Raises ValueError when `plan` is not a schedule of `graph`."""
    return late(graph, chain, aligned(graph, chain, calls(graph, plan)))


__all__ = ["schedule"]
