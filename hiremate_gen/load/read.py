"""model.py as text: decoded, parsed, or refused with its position."""

from __future__ import annotations

import ast
import os

import libcst

from hiremate_gen.errors import LoadError
from hiremate_gen.ir.decode import decode, digest
from hiremate_gen.ir.source import SourceFile
from hiremate_gen.load.statements import index


def read(path: str) -> tuple[SourceFile, ast.Module]:
    """The file and its tree.  Raises LoadError with `file:line:col`."""
    text = decode(path)
    try:
        tree = ast.parse(text, filename=path)
        libcst.parse_module(text)
    except SyntaxError as error:
        where = f"{path}:{error.lineno or 1}:{error.offset or 1}"
        raise LoadError(f"syntax error: {error.msg}", where=where, hint=_quoted(text, error.lineno or 1)) from None
    except ValueError as error:  # a null byte
        raise LoadError(f"not Python source: {error}", where=path) from None
    except RecursionError:
        raise LoadError("nested too deeply to be parsed", where=path) from None
    except libcst.ParserSyntaxError as error:
        where = f"{path}:{error.raw_line}:{error.raw_column + 1}"
        raise LoadError("syntax that libcst cannot read", where=where, hint=_quoted(text, error.raw_line)) from None
    return SourceFile(path, os.path.basename(path), text, digest(text), index(tree, text)), tree


def _quoted(text: str, line: int) -> str:
    lines = text.split("\n")
    return lines[line - 1].strip() if line <= len(lines) else ""
