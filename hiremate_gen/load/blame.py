"""An exception in the user's code, said as one line that points into the user's file."""

from __future__ import annotations

import os
import traceback

from hiremate_gen.errors import HiremateError, LoadError
from hiremate_gen.ir.source import Skipped, SourceFile
from hiremate_gen.load.argv import ArgumentsMissing
from hiremate_gen.load.place import Place


def blame(error: BaseException, doing: str, source: SourceFile, where: Place, hint: str = "") -> HiremateError:
    """`doing` completes "KeyError: 'x' while ..."."""
    if isinstance(error, HiremateError):
        return error
    spot = position(error, source, where)
    if isinstance(error, NameError) and (skipped := source.skipped_name(error.name or "")):
        return needs_skipped(error.name or "", skipped, source, spot)
    if isinstance(error, ModuleNotFoundError):
        return _not_found(error.name or "", spot)
    if isinstance(error, SyntaxError) and error.filename:
        spot = f"{shown(error.filename, source, where)}:{error.lineno or 1}:{error.offset or 1}"
        return LoadError(f"syntax error: {error.msg}", where=spot)
    if isinstance(error, ArgumentsMissing):
        message = f"the file parses its command line while {doing}, and there is none: {error.message}"
        return LoadError(message, where=spot, hint=error.hint)
    if isinstance(error, SystemExit):
        return LoadError(f"the file ends the program while {doing}", where=spot, hint=hint)
    text = str(error).strip().partition("\n")[0]
    return LoadError(f"{type(error).__name__}: {text}, while {doing}", where=spot, hint=hint)


def needs_skipped(name: str, skipped: Skipped, source: SourceFile, spot: str) -> LoadError:
    """A name is missing because the statement that binds it was left out."""
    hint = (
        f"{source.path}:{skipped.line} sets it (`{skipped.text}`), which was not run: {skipped.reason}.\n"
        "  Make it inside example_inputs() or build_model(), or pass it with --inputs or --model."
    )
    return LoadError(f"{name} is not defined", where=spot, hint=hint)


def position(error: BaseException, source: SourceFile, where: Place) -> str:
    """`file:line:col` of the innermost frame in the user's folder, preferring the file itself; empty when none is."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f.filename == where.file]
    near = [f for f in frames if f.filename.startswith(where.root + os.sep) and "site-packages" not in f.filename]
    for frame in (own or near)[-1:]:
        return f"{shown(frame.filename, source, where)}:{frame.lineno}:{(frame.colno or 0) + 1}"
    flags = [f for f in frames if f.filename.startswith("--")]
    return flags[-1].filename if flags else source.path


def shown(file: str, source: SourceFile, where: Place) -> str:
    """The file as the user would write it, next to how they wrote model.py."""
    if file == where.file:
        return source.path
    folder = os.path.dirname(where.file)
    if not file.startswith(where.root + os.sep):
        return file
    return os.path.normpath(os.path.join(os.path.dirname(source.path), os.path.relpath(file, folder)))


def _not_found(name: str, spot: str) -> LoadError:
    package, _, rest = name.partition(".")
    if rest:  # without the package itself, the error would name that
        return LoadError(f"cannot import {name}: there is no such module in {package}", where=spot)
    hint = f"install it into this environment (pip install {package}), or put {package}.py next to the file"
    return LoadError(f"cannot import {name}: it is neither installed nor next to the file", where=spot, hint=hint)
