"""Which ops run when: the fastest plan within a budget (FORMULATION.md).  The only stage that uses cvxpy."""

from hiremate_gen.solve.api import keep_all, minimum, solve
from hiremate_gen.solve.strategies import plan

__all__ = ["keep_all", "minimum", "plan", "solve"]
