"""From a module and example inputs to the joint forward/backward ATen graph."""

from hiremate_gen.trace.joint import WAYS, Traced, trace
from hiremate_gen.trace.refusals import refuse_known
from hiremate_gen.trace.settings import Values, plain
from hiremate_gen.trace.version import TORCH

__all__ = ["TORCH", "WAYS", "Traced", "Values", "plain", "refuse_known", "trace"]
