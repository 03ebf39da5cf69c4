"""Options of blocks that were solved before, on disk: after a change of one layer only that layer is solved anew.

A file holds the schedules found for one block, under a name that is the hash of all that they depend on: the block's
net, how many kinds of blocks share the effort, the sources of this stage, and the versions of what it computes with.
What an option costs is not stored but measured anew: a file can be missing, old or broken, and the plan is the same.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path

from hiremate_gen.solve.net import Codes, Net


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of solved blocks; it is made when something is stored."""

    folder: str

    def load(self, net: Net, kinds: int) -> list[Codes] | None:
        """The schedules stored for a block's net; None when there are none that can be trusted."""
        try:
            text = self._path(net, kinds).read_text("utf-8")
            digest, _, body = text.partition("\n")
            found = json.loads(body) if digest == _digest(body) else None
        except (OSError, ValueError):
            return None
        most = net.n_ops * net.n_forward
        if not isinstance(found, list) or not all(isinstance(codes, list) for codes in found):
            return None
        sound = all(isinstance(code, int) and 0 <= code < most for codes in found for code in codes)
        return [tuple(codes) for codes in found] if sound else None

    def store(self, net: Net, kinds: int, found: Sequence[Codes]) -> None:
        """Does nothing where the folder cannot be written."""
        path, body = self._path(net, kinds), json.dumps([list(codes) for codes in found])
        draft = path.with_suffix(f".{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(f"{_digest(body)}\n{body}", "utf-8")
            draft.replace(path)
        except OSError:
            with suppress(OSError):
                draft.unlink()

    def _path(self, net: Net, kinds: int) -> Path:
        facts = [(f.name, _plain(getattr(net, f.name))) for f in fields(net) if f.init]
        return Path(self.folder) / f"block-{_digest(repr((_solver(), kinds, facts)))}.json"


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else value


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@cache
def _solver() -> str:
    """The sources of this stage, and the versions of the libraries that find schedules."""
    sources = [path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))]
    return _digest("".join(sources) + "".join(version(name) for name in ("highspy", "cvxpy", "numpy", "scipy")))
