"""The table of blocks: a row for each, or one for a stretch of numbered modules that take the same classes in turn."""

from __future__ import annotations

import re

from hiremate_gen.emit.identifiers import quoted

_LONGEST_TURN = 4
_SHORTEST = 4  # blocks that are worth a common row


def rows(blocks: list[tuple[str, str]]) -> tuple[str, ...]:
    """`blocks` are pairs of class and path, in order."""
    found: list[str] = []
    at = 0
    while at < len(blocks):
        turns = range(1, _LONGEST_TURN + 1)
        turn = max(turns, key=lambda p: (_stretch(blocks, at, p), -p))
        length = _stretch(blocks, at, turn)
        if length >= max(2 * turn, _SHORTEST):
            stem, number, tail = _numbered(blocks[at][1]) or ("", 0, "")
            classes = ", ".join(name for name, _ in blocks[at : at + turn])
            path = quoted(f"{stem}*{tail}")
            start = f"{number}, " if number else ""
            found.append(f"*repeated({path}, range({start}{number + length}), {classes}),")
            at += length
        else:
            found.append(f"({blocks[at][0]}, {quoted(blocks[at][1])}),")
            at += 1
    return tuple(found)


def _stretch(blocks: list[tuple[str, str]], at: int, turn: int) -> int:
    """How many blocks from `at` on take the next `turn` classes in turn."""
    first = _numbered(blocks[at][1])
    if first is None or "*" in blocks[at][1]:
        return 0
    stem, number, tail = first
    length = 0
    while at + length < len(blocks):
        name, path = blocks[at + length]
        follows = path == f"{stem}{number + length}{tail}"
        if not follows or (length >= turn and name != blocks[at + length - turn][0]):
            break
        length += 1
    return length


def _numbered(path: str) -> tuple[str, int, str] | None:
    """`h.3.attn` as ("h.", 3, ".attn")."""
    match = re.fullmatch(r"(.*?)(0|[1-9]\d*)((?:\.[^.\d]+)*)", path)
    return (match[1], int(match[2]), match[3]) if match and (not match[1] or match[1].endswith(".")) else None
