"""Names that generated code uses at the top level, made to differ from those of the file that it joins."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass

from hiremate_gen.emit.bindings import bound_names, free_import
from hiremate_gen.emit.helpers import HELPERS
from hiremate_gen.ir.source import SourceFile

OURS = (
    "aten",
    "Live",
    "RematStep",
    "REMAT_STEPS",
    "Tensors",
    "check_step",
    "drain",
    *HELPERS,
    "remat_constant",
    "remat_step",
    "replaying",
    "rng_state",
)
_IMPORTS = (
    "import hashlib",
    "import torch",
    "import torch.nn.functional as F",
    "from collections.abc import Iterator",
    "from contextlib import contextmanager",
    "from operator import attrgetter",
    "from torch import Tensor",
    "from typing import Any",
)


@dataclass(frozen=True, slots=True)
class Freed:
    """Generated text, what the forward's names are called in it, and the imports needed on top of the file's."""

    text: str
    names: dict[str, str]
    imports: tuple[str, ...]


def freed(source: SourceFile, text: str, method: tuple[str, ...], hidden: frozenset[str]) -> Freed:
    """`text` without names that `source` means something else by.

    `method` are names that the planned forward needs; `hidden` those that its parameters hide from it there.
    """
    renamed: dict[str, str] = {}
    bound = bound_names(source)
    for name in OURS:
        renamed[name] = _unlike(name, bound)
    imports: list[str] = []
    used = {*_names(text), *method}
    for statement in _IMPORTS:
        name, new = free_import(source, statement)
        wanted = statement.split()[-1]
        renamed[wanted] = name
        if new is not None and wanted in used:
            imports.append(new)
    changed = {old: new for old, new in renamed.items() if old != new}
    inside = {name: renamed[name] for name in method}
    for name in (n for n in method if renamed[n] in hidden):  # an import of the file's own: once more
        inside[name] = _unlike(name, bound)
        imports.append(f"import {name} as {inside[name]}")
    return Freed(_with_names(text, changed), inside, tuple(imports))


def _unlike(name: str, bound: frozenset[str]) -> str:
    while name in bound:
        name += "_"
    return name


def _tokens(text: str) -> list[tuple[tokenize.TokenInfo, bool]]:
    """Each token, and whether it is a name that does not stand after a dot."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    found = []
    for k, token in enumerate(tokens):
        after_dot = k > 0 and tokens[k - 1].string == "."
        found.append((token, token.type == tokenize.NAME and not after_dot))
    return found


def _names(text: str) -> set[str]:
    return {token.string for token, free in _tokens(text) if free}


def _with_names(text: str, renamed: Mapping[str, str]) -> str:
    if not renamed:
        return text
    lines = text.split("\n")
    for token, free in reversed(_tokens(text)):
        if free and token.string in renamed:
            row, column = token.start
            line = lines[row - 1]
            lines[row - 1] = line[:column] + renamed[token.string] + line[column + len(token.string) :]
    return "\n".join(lines)
