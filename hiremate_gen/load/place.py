"""Where a file stands: the package that it belongs to, the folder that its imports need, the name of its module."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """`file` is absolute, `root` the folder that goes onto sys.path, `module` the dotted name below it."""

    file: str
    root: str
    module: str

    @property
    def package(self) -> str:
        return self.module.rpartition(".")[0]


def place(path: str) -> Place:
    """A file inside a package is imported as part of it, so that its relative imports work."""
    file = os.path.abspath(path)
    folder, base = os.path.split(file)
    stem = os.path.splitext(base)[0]
    parts: list[str] = []
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.basename(folder).isidentifier():
        folder, name = os.path.split(folder)
        parts.insert(0, name)
    if parts:
        return Place(file, folder, ".".join([*parts, stem]))
    # A file called json.py must not hide the module of that name from everyone else.
    return Place(file, folder, f"_{stem}" if stem in sys.stdlib_module_names or _is_foreign(stem, file) else stem)


def _is_foreign(name: str, file: str) -> bool:
    module = sys.modules.get(name)
    return module is not None and getattr(module, "__file__", None) != file and not _is_script(module)


def _is_script(module: object) -> bool:
    """Whether an earlier load left it: those are dropped, not kept clear of."""
    return type(getattr(getattr(module, "__spec__", None), "loader", None)).__name__ == "SourceLoader"


@contextmanager
def at_home(where: Place) -> Iterator[None]:
    """Run the user's code as it expects: its folder on sys.path, no arguments of ours, and its prints on stderr."""
    path, argv = list(sys.path), sys.argv
    sys.path.insert(0, where.root)
    sys.argv = [where.file]
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        sys.path[:], sys.argv = path, argv
