"""From the joint fx graph to the torch-free `ir.Graph`: ops, values, aliases, bytes, time."""

from hiremate_gen.graph.build import build

__all__ = ["build"]
