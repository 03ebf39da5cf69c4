"""Run what was generated against eager: equal bit for bit, and as much memory as was promised."""

from hiremate_gen.verify.compare import Verdict, compare
from hiremate_gen.verify.evidence import keep_evidence
from hiremate_gen.verify.room import room_bytes

__all__ = ["Verdict", "compare", "keep_evidence", "room_bytes"]
