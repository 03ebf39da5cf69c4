"""Measured costs of ops, as they lie in a repository: made once on the device, read for every plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hiremate_gen.errors import UsageError
from hiremate_gen.ir.decode import decode_data

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """Median seconds of one call, and the bytes live inside it beyond inputs and outputs."""

    time_s: float
    workspace_bytes: int


@dataclass(frozen=True, slots=True)
class Profile:
    """`ops` maps signatures (see `signature`) to what was measured; the rest says where."""

    device: str
    torch: str
    threads: int
    ops: Mapping[str, Measured]

    def key(self, signature: str) -> Measured | None:
        """What was measured for a signature, or None."""
        return self.ops.get(signature)

    def dumps(self) -> str:
        """JSON with sorted keys, seconds to four digits: a small diff when one op changes."""
        ops = {s: [float(f"{m.time_s:.4g}"), m.workspace_bytes] for s, m in self.ops.items()}
        body = {"format": FORMAT, "device": self.device, "torch": self.torch, "threads": self.threads, "ops": ops}
        return _one_op_a_line(body)


def loads(text: str, *, where: str = "profile") -> Profile:
    """Read what `Profile.dumps` wrote.  Raises UsageError when the text is something else."""
    try:
        body = json.loads(text)
        ops = {str(s): Measured(float(t), int(b)) for s, (t, b) in body["ops"].items()}
        if body["format"] != FORMAT:
            raise UsageError(f"profile format {body['format']} is not {FORMAT}", where=where, hint="measure it again")
        if any(m.time_s < 0 or m.workspace_bytes < 0 for m in ops.values()):
            raise ValueError("a cost is negative")
        return Profile(str(body["device"]), str(body["torch"]), int(body["threads"]), ops)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"not a profile: {error}", where=where, hint="make one with `hiremate-gen profile`") from error


def read(path: Path) -> Profile:
    """Read a profile file.  Raises UsageError when there is none or it is not one."""
    return loads(decode_data(str(path)), where=str(path))


def _one_op_a_line(body: Mapping[str, object]) -> str:
    ops = body["ops"]
    assert isinstance(ops, dict)
    lines = [f"    {json.dumps(s)}: {json.dumps(ops[s])}" for s in sorted(ops)]
    head = [f"  {json.dumps(k)}: {json.dumps(body[k])}," for k in sorted(body) if k != "ops"]
    return "\n".join(["{", *head, '  "ops": {', ",\n".join(lines), "  }", "}", ""])
