"""Errors for people: what is wrong, where, and what to do.  Each kind has its exit code."""

from __future__ import annotations


class HiremateError(Exception):
    """Anything the tool says to its user instead of a result.

    `where` is `file:line:col` or empty, `hint` what to do about it.
    """

    exit_code = 70

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message, self.where, self.hint = message, where, hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  {self.hint}" if self.hint else text


class UsageError(HiremateError):
    """The command line cannot be followed."""

    exit_code = 2


class LoadError(HiremateError):
    """model.py cannot be read, imported, or does not say which model and inputs to plan."""

    exit_code = 2


class UnsupportedError(HiremateError):
    """The model does something that cannot be planned."""

    exit_code = 3


class InfeasibleError(HiremateError):
    """No plan fits the budget.  `minimum_bytes` is the smallest budget that one fits."""

    exit_code = 4

    def __init__(self, message: str, *, minimum_bytes: int, where: str = "", hint: str = "") -> None:
        super().__init__(message, where=where, hint=hint)
        self.minimum_bytes = minimum_bytes


class InternalError(HiremateError):
    """The tool failed its own check."""

    exit_code = 70
