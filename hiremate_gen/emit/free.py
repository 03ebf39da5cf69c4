"""Names that generated code uses at the top level, made to differ from those of the file that it joins."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Mapping

from hiremate_gen.emit.bindings import bound_names, free_import
from hiremate_gen.ir.source import SourceFile

OURS = (
    "aten",
    "Live",
    "RematStep",
    "REMAT_STEPS",
    "Tensors",
    "check_step",
    "drain",
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


def freed(source: SourceFile, *texts: str) -> tuple[list[str], list[str]]:
    """`texts` without names that `source` means something else by, and the imports that they need on top of its."""
    renamed: dict[str, str] = {}
    bound = bound_names(source)
    for name in OURS:
        free = name
        while free in bound:
            free += "_"
        renamed[name] = free
    imports: list[str] = []
    used = {name for text in texts for name in _names(text)}
    for statement in _IMPORTS:
        name, new = free_import(source, statement)
        wanted = statement.split()[-1]
        renamed[wanted] = name
        if new is not None and wanted in used:
            imports.append(new)
    changed = {old: new for old, new in renamed.items() if old != new}
    return [_with_names(text, changed) for text in texts], imports


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
