"""From a plan to ordered steps with frees, by exact replay."""

from hiremate_gen.schedule.calls import schedule

__all__ = ["schedule"]
