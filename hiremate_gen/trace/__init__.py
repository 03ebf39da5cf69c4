"""From a module and example inputs to the joint forward/backward ATen graph."""

from hiremate_gen.trace.joint import Leaf, Traced, trace
from hiremate_gen.trace.version import TORCH

__all__ = ["TORCH", "Leaf", "Traced", "trace"]
