"""Which ops run when: the fastest plan within a budget (FORMULATION.md).  The only stage that uses cvxpy."""

from hiremate_gen.solve.api import keep_all, minimum, solve

__all__ = ["keep_all", "minimum", "solve"]
