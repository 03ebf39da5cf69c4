"""From the schedule to Python source: names, lines, templates, carry-over, black."""

from hiremate_gen.emit.header import Facts, overhead
from hiremate_gen.emit.render import Contract, emit, labels

__all__ = ["Contract", "Facts", "emit", "labels", "overhead"]
