"""From a module and example inputs to the joint forward/backward ATen graph."""

from hiremate_gen.trace.contract import digest, result_source, unset
from hiremate_gen.trace.joint import Leaf, Traced, trace

__all__ = ["Leaf", "Traced", "digest", "result_source", "trace", "unset"]
