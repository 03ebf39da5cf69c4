"""What the stages hand to each other: frozen, torch-free types and the meaning of a plan.

`graph` is what is computed, `chain` how it is cut into blocks, `plan` what a solver decides, `replay` what
a plan costs.  Nothing here imports a stage.
"""

from hiremate_gen.ir.chain import Block, Chain
from hiremate_gen.ir.graph import (
    Arg,
    Device,
    Graph,
    Literal,
    Op,
    Origin,
    Output,
    Ref,
    Value,
)
from hiremate_gen.ir.plan import Plan, Segment
from hiremate_gen.ir.plan_json import PlanFile, dump_plan, read_plan
from hiremate_gen.ir.replay import Moment, Replay, replay
from hiremate_gen.ir.schedule import Call, Schedule, Step

__all__ = [
    "Arg",
    "Block",
    "Call",
    "Chain",
    "Device",
    "Graph",
    "Literal",
    "Moment",
    "Op",
    "Origin",
    "Output",
    "Plan",
    "PlanFile",
    "Ref",
    "Replay",
    "Schedule",
    "Segment",
    "Step",
    "Value",
    "dump_plan",
    "read_plan",
    "replay",
]
