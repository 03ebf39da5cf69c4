"""What torch's tracer says, said again for people."""

from __future__ import annotations

import re
import traceback

from hiremate_gen.errors import HiremateError, UnsupportedError

_DATA_DEPENDENT = ("GuardOnDataDependent", "DataDependent", "data-dependent")


def explain(error: Exception) -> HiremateError:
    """The error to show for an exception of the tracer."""
    if isinstance(error, HiremateError):
        return error
    text = f"{type(error).__name__}: {error}"
    where = _where(error)
    if any(mark in text for mark in _DATA_DEPENDENT):
        return UnsupportedError(
            "the path through the model depends on the values of a tensor" + _op(text),
            where=where,
            hint="a plan is made before there are values: use torch.where, or move the decision out of forward",
        )
    first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return UnsupportedError(f"torch cannot trace the training step: {first}", where=where)


def _op(text: str) -> str:
    match = re.search(r"aten\.[a-z_]+(\.[A-Za-z_]+)?", text)
    return f" ({match[0]})" if match else ""


def _where(error: Exception) -> str:
    """The innermost line of the user's own files on the way to the error."""
    for exception in (error, error.__cause__, error.__context__):
        frames = traceback.extract_tb(exception.__traceback__) if exception else []
        for frame in reversed(frames):
            if "/torch/" not in frame.filename and "/hiremate_gen/" not in frame.filename and frame.lineno:
                if frame.filename.startswith("<"):
                    continue
                return f"{frame.filename}:{frame.lineno}:{(frame.colno or 0) + 1}"
    return ""
