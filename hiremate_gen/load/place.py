"""Where a file stands: the package that it belongs to, the folder that its imports need, the name of its module."""

from __future__ import annotations

import ast
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import Any

from hiremate_gen.load.argv import asked_politely


@dataclass(frozen=True, slots=True)
class Place:
    """`file` is absolute, `root` the folder that goes onto sys.path, `module` the dotted name below it."""

    file: str
    root: str
    module: str

    @property
    def package(self) -> str:
        return self.module.rpartition(".")[0]


def place(path: str, tree: ast.Module) -> Place:
    """A file that imports from its own package is imported as part of it; any other on its own.

    The package's `__init__` may be heavy or broken: it runs only where it would have to.
    """
    file = os.path.abspath(path)
    folder, base = os.path.split(file)
    stem = re.sub(r"\W", "_", os.path.splitext(base)[0])
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    levels = max((n.level for n in imports if isinstance(n, ast.ImportFrom)), default=0)
    parts: list[str] = []
    home = folder
    while os.path.basename(home).isidentifier() and (
        os.path.isfile(os.path.join(home, "__init__.py")) or len(parts) < levels
    ):
        home, name = os.path.split(home)
        parts.insert(0, name)
    if parts and (levels or any(parts[0] in _packages(n) for n in imports)):
        return Place(file, home, ".".join([*parts, stem]))
    # A file called json.py must not hide the module of that name from everyone else.
    hides = stem in sys.stdlib_module_names or _is_foreign(stem, file)
    return Place(file, folder, f"model_{stem}" if hides else stem)


def _packages(node: ast.Import | ast.ImportFrom) -> set[str]:
    names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    return {n.partition(".")[0] for n in names}


def _is_foreign(name: str, file: str) -> bool:
    module = sys.modules.get(name)
    return module is not None and getattr(module, "__file__", None) != file and not _is_script(module)


def _is_script(module: object) -> bool:
    """Whether an earlier load left it: those are dropped, not kept clear of."""
    return type(getattr(getattr(module, "__spec__", None), "loader", None)).__name__ == "SourceLoader"


@contextmanager
def at_home(where: Place) -> Iterator[None]:
    """Run the user's code as it expects: its folder on sys.path, no arguments of ours, and its prints on stderr.

    Warnings are shown where they come from the user's files: those from inside of packages speak of how we run it.
    """
    path, argv = list(sys.path), sys.argv
    sys.path.insert(0, where.root)
    sys.argv = [where.file]
    try:
        with redirect_stdout(sys.stderr), asked_politely(), warnings.catch_warnings():
            warnings.showwarning = _only_from(where.root, warnings.showwarning)
            yield
    finally:
        sys.path[:], sys.argv = path, argv


def is_own(file: str, root: str) -> bool:
    """Whether a file below `root` is the user's, and not of a package installed there."""
    return file.startswith(root) and "site-packages" not in file


def _only_from(root: str, show: Callable[..., Any]) -> Callable[..., Any]:
    """`warnings.showwarning` for the user's own files."""

    def shown(message: Any, category: Any, filename: str, *rest: Any) -> None:
        if is_own(os.path.abspath(filename), root):
            show(message, category, filename, *rest)

    return shown
