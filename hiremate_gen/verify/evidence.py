"""What is left of a file that failed the check, for a report."""

from __future__ import annotations

import tempfile
from pathlib import Path


def keep_evidence(text: str, plan_json: str, difference: str) -> str:
    """Save the rejected file, its plan and the difference in a new folder; the folder's path."""
    folder = Path(tempfile.mkdtemp(prefix="hiremate-gen-evidence-"))
    for name, content in (("rejected.py", text), ("plan.json", plan_json), ("difference.txt", difference + "\n")):
        (folder / name).write_text(content, encoding="utf-8", newline="\n")
    return str(folder)
