"""The user's file as later stages need it: text, statements by line, the planned class.  Free of torch and libcst."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statement:
    """A simple statement, or the head of a compound one (`for x in xs:`), on lines `line` to `end_line`.

    `targets` are the names that it assigns, position by position: `q, k, v = ...` -> ("q", "k", "v"),
    `self.loss = ...` -> ("loss",), a return -> ().  Where two statements share a line, which of them an op came from
    cannot be told: they are one `Statement` without targets.
    """

    line: int
    end_line: int
    text: str  # first line, stripped
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A top-level statement that was not run when the file was imported, and why.

    `index` counts the statements of the module's body, those between semicolons one by one.  `carried` says whether it
    is part of the generated file all the same.
    """

    index: int
    line: int
    text: str
    names: tuple[str, ...]  # what it would have bound
    reason: str
    carried: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function: `kind` is as in inspect ("POSITIONAL_ONLY", ...), the rest is source text."""

    name: str
    kind: str
    annotation: str = ""
    default: str = ""

    @property
    def text(self) -> str:
        star = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(self.kind, "")
        text = f"{star}{self.name}: {self.annotation}" if self.annotation else f"{star}{self.name}"
        if not self.default:
            return text
        return f"{text} = {self.default}" if self.annotation else f"{text}={self.default}"

    @property
    def argument(self) -> str:
        """How a call passes it on."""
        star = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**", "KEYWORD_ONLY": f"{self.name}="}.get(self.kind, "")
        return f"{star}{self.name}"


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters of a method after its first one, which is `receiver` ("self")."""

    receiver: str
    parameters: tuple[Parameter, ...]
    returns: str = ""

    @property
    def text(self) -> str:
        """What stands in the parentheses of the def: "self, x: Tensor, *, mask: Tensor | None = None"."""
        parts, before = [self.receiver], "POSITIONAL_ONLY"
        for p in self.parameters:
            if before == "POSITIONAL_ONLY" and p.kind != before and len(parts) > 1:
                parts.append("/")
            if p.kind == "KEYWORD_ONLY" and before not in ("KEYWORD_ONLY", "VAR_POSITIONAL"):
                parts.append("*")
            parts.append(p.text)
            before = p.kind
        return ", ".join([*parts, "/"] if before == "POSITIONAL_ONLY" and len(parts) > 1 else parts)

    @property
    def arguments(self) -> str:
        """The parameters passed on in a call: "x, mask=mask"."""
        return ", ".join(p.argument for p in self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters)


@dataclass(frozen=True, slots=True)
class Planned:
    """The class whose training step is planned, and the forward that it defines."""

    qualname: str  # "GPT", "Outer.Net", "make.<locals>.Net"
    line: int
    forward: Signature


@dataclass(frozen=True, slots=True)
class SourceFile:
    """model.py.  `statements` are in order of their first line."""

    path: str  # as given on the command line: for messages
    name: str  # without folders: for what is generated, which must not depend on where it was generated
    text: str  # newlines are \n
    sha256: str  # of the text in UTF-8
    statements: tuple[Statement, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    star_names: tuple[str, ...] = ()  # bound by `from x import *`
    planned: Planned | None = None

    def statement_at(self, line: int) -> Statement | None:
        """The innermost simple statement on that line, None where there is none."""
        at = bisect_right(self.statements, line, key=lambda s: s.line) - 1
        found = self.statements[at] if at >= 0 else None
        return found if found is not None and found.end_line >= line else None

    def skipped_name(self, name: str) -> Skipped | None:
        """The last statement that would have bound `name`, had it been run."""
        return next((s for s in reversed(self.skipped) if name in s.names), None)
