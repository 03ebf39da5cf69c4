"""What a plan does to a step, told to people: saved tensors, the moments of the peak, a page with plots."""

from hiremate_gen.report.explain import explain
from hiremate_gen.report.page import OURS, page
from hiremate_gen.report.subject import Budget, Subject
from hiremate_gen.report.sweep import sweep_table

__all__ = ["OURS", "Budget", "Subject", "explain", "page", "sweep_table"]
