"""model.py becomes a module: under its own name, file and line numbers, less the statements that must not run."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

from torch.utils import _pytree as pytree

from hiremate_gen.load.place import Place, is_own


class SourceLoader(importlib.abc.InspectLoader):
    """Runs the kept statements of one text."""

    def __init__(self, where: Place, text: str, left_out: Collection[int]) -> None:
        self.where, self.text, self.left_out = where, text, left_out

    def get_source(self, fullname: str) -> str:
        return self.text

    def get_filename(self, fullname: str) -> str:
        return self.where.file

    def is_package(self, fullname: str) -> bool:
        return False

    def exec_module(self, module: ModuleType) -> None:
        tree = ast.parse(self.text, filename=self.where.file)
        tree.body = [s for i, s in enumerate(tree.body) if i not in self.left_out]
        # Tracebacks and inspect.getsource show the text that was planned, even when the file changes meanwhile.
        lines = [line + "\n" for line in self.text.split("\n")]
        linecache.cache[self.where.file] = (len(self.text), None, lines, self.where.file)
        exec(compile(tree, self.where.file, "exec", dont_inherit=True), vars(module))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the one module, whoever imports it: its package's `__init__` may well be the first."""

    def __init__(self, loader: SourceLoader) -> None:
        self.loader = loader

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.loader.where.module:
            return None
        spec = importlib.util.spec_from_loader(fullname, self.loader, origin=self.loader.where.file)
        if spec is not None:
            spec.has_location = True
        return spec


_latest: tuple[str, frozenset[str]] = ("", frozenset())  # the root of the latest model, and the modules before it


def import_text(where: Place, text: str, left_out: Collection[int] = ()) -> ModuleType:
    """Import `text` as the module that stands at `where`; what an earlier call brought in is imported afresh.

    Needs `at_home`.  Raises whatever the code raises.
    """
    global _latest
    for name in _brought():
        del sys.modules[name]
    _latest = where.root, frozenset(sys.modules)
    with _found(SourceLoader(where, text, left_out)):
        module = importlib.import_module(where.module)
        _open_dataclasses(module)
        return module


def imported_files(where: Place) -> tuple[str, ...]:
    """The files that the module imported so far from its own folder or package, sorted; functions may import more."""
    files = {sys.modules[n].__file__ for n in _brought() if n != where.module}
    return tuple(sorted(f for f in files if f and f != where.file and f.endswith(".py")))


def _brought() -> list[str]:
    root, before = _latest
    return [n for n in sys.modules if n not in before and _is_local(sys.modules[n], root)] if root else []


def _open_dataclasses(module: ModuleType) -> None:
    """Let torch see the tensors inside the module's dataclasses: models take and return such."""
    for found in list(vars(module).values()):
        if isinstance(found, type) and dataclasses.is_dataclass(found) and found not in pytree.SUPPORTED_NODES:
            pytree.register_dataclass(found)


@contextmanager
def _found(loader: SourceLoader) -> Iterator[None]:
    finder = _Finder(loader)
    sys.meta_path.insert(0, finder)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _is_local(module: ModuleType, root: str) -> bool:
    file = getattr(module, "__file__", None) or ""
    return is_own(file, root) and not module.__name__.startswith("hiremate_gen")
