"""From the joint fx graph to the torch-free `ir.Graph`: ops, values, aliases, bytes, time."""

from hiremate_gen.graph.build import build
from hiremate_gen.graph.costs import Costs, costs_for, profile
from hiremate_gen.graph.origins import Origins

__all__ = ["Costs", "Origins", "build", "costs_for", "profile"]
