"""From a module and example inputs to the joint forward/backward ATen graph."""

from hiremate_gen.trace.joint import Leaf, Traced, trace

__all__ = ["Leaf", "Traced", "trace"]
