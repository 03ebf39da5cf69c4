"""[tool.hiremate-gen] of pyproject.toml: what is generated in this repository, target by target.

Keys are called as the flags are.  Paths are relative to the folder of pyproject.toml.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from hiremate_gen.config import STRATEGIES
from hiremate_gen.errors import UsageError
from hiremate_gen.ir.decode import decode_data
from hiremate_gen.units import parse_size

FILE = "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a target: the parameter of the command that it gives, and what it may hold."""

    option: str
    kinds: tuple[type, ...] = (str,)
    path: bool = False
    choices: tuple[str, ...] = ()  # empty: any string
    shared: bool = True  # may also stand in [tool.hiremate-gen] itself, for every target


KEYS = {
    "source": Key("model_path", path=True, shared=False),
    "output": Key("output", path=True, shared=False),
    "budget": Key("budget_text", (str, int)),
    "model": Key("model"),
    "inputs": Key("inputs", (list,)),
    "device": Key("device"),
    "costs": Key("costs", path=True),
    "plan": Key("plan", path=True, shared=False),
    "save-plan": Key("save_plan", path=True, shared=False),
    "report": Key("report", path=True, shared=False),
    "strategy": Key("strategy", choices=STRATEGIES),
    "time-limit": Key("time_limit_s", (int, float)),
    "verify": Key("verify", (bool,)),
}
_KINDS = {str: "a string", int: "a number", float: "a number", bool: "true or false", list: "a list of strings"}
_NO_PATHS = ("unit", "roofline")  # values of `costs` that are no files


@dataclass(frozen=True, slots=True)
class Target:
    """One file to generate: `given` maps parameters of the command to values, `where` names it in messages."""

    where: str
    given: Mapping[str, Any]


def find(start: str) -> str | None:
    """The nearest pyproject.toml with a table for us, from `start` up to the root of the repository."""
    folder = os.path.abspath(start)
    while True:
        path = os.path.join(folder, FILE)
        if os.path.isfile(path) and _table(os.path.relpath(path, start)) is not None:
            return os.path.relpath(path, start)
        above = os.path.dirname(folder)
        if above == folder or os.path.exists(os.path.join(folder, ".git")):
            return None
        folder = above


def read(path: str) -> tuple[Target, ...]:
    """The targets in a file that `find` found, in its order.  Raises UsageError, with the file and the key."""
    table = dict(_table(path) or {})
    rows = table.pop("targets", None)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        hint = 'add [[tool.hiremate-gen.targets]] with source = "model.py", output = "model_remat.py", budget = "60%"'
        raise UsageError("[tool.hiremate-gen] has no targets", where=path, hint=hint)
    shared = _given(table, path, "[tool.hiremate-gen]", {k: key for k, key in KEYS.items() if key.shared})
    found = []
    for number, row in enumerate(rows, 1):
        name = f"target {number}"
        missing = next((k for k in ("source", "output") if k not in row), None)
        if missing:
            raise UsageError(f"{name} of [tool.hiremate-gen] has no `{missing}`", where=path)
        found.append(Target(f"{path}: {name}", {**shared, **_given(row, path, name, KEYS)}))
    _refuse_twice(path, found)
    return tuple(found)


def select(targets: tuple[Target, ...], model_path: str | None, output: str | None) -> tuple[Target, ...]:
    """Those made from `model_path`, where it is given; of these the one that is `output`, where one is."""
    found = tuple(t for t in targets if model_path is None or _same(t.given["model_path"], model_path))
    named = tuple(t for t in found if output is not None and _same(t.given["output"], output))
    return named or found


def _table(path: str) -> Mapping[str, Any] | None:
    try:
        table = tomllib.loads(decode_data(path)).get("tool", {}).get("hiremate-gen")
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"is not TOML: {error}", where=path) from None
    if table is not None and not isinstance(table, dict):
        raise UsageError("tool.hiremate-gen is not a table", where=path)
    return table


def _given(row: Mapping[str, Any], path: str, name: str, keys: Mapping[str, Key]) -> dict[str, Any]:
    given = {}
    for key, value in row.items():
        if key not in keys:
            near = get_close_matches(key, keys, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(keys)}"
            if key in KEYS:
                hint = "it belongs into [[tool.hiremate-gen.targets]]"
            raise UsageError(f"unknown key `{key}` in {name}", where=path, hint=hint)
        given[keys[key].option] = _value(key, value, path, name)
    return given


def _value(key: str, value: Any, path: str, name: str) -> Any:
    """As the command's parameter would have it."""
    kinds = KEYS[key].kinds
    strings = not isinstance(value, list) or all(isinstance(item, str) for item in value)
    if type(value) not in kinds or not strings:
        words = " or ".join(dict.fromkeys(_KINDS[kind] for kind in kinds))
        raise UsageError(f"`{key}` in {name} must be {words}", where=path)
    if KEYS[key].choices and value not in KEYS[key].choices:
        raise UsageError(f"`{key}` in {name} must be one of {', '.join(KEYS[key].choices)}", where=path)
    if key == "budget":
        try:
            parse_size(str(value))
        except ValueError as error:
            raise UsageError(f"`budget` in {name}: {error}", where=path) from None
        return str(value)
    if key == "time-limit" and not value > 0:
        raise UsageError(f"`time-limit` in {name} must be above zero", where=path)
    if KEYS[key].path and value not in _NO_PATHS:
        return value if os.path.isabs(value) else os.path.relpath(os.path.join(os.path.dirname(path), value))
    return tuple(value) if isinstance(value, list) else value


def _refuse_twice(path: str, targets: list[Target]) -> None:
    seen: dict[str, str] = {}
    for target in targets:
        output = os.path.abspath(target.given["output"])
        if output in seen:
            message = f"two targets have the `output` {target.given['output']}"
            raise UsageError(message, where=path, hint=f"{seen[output]} and {target.where.rpartition(': ')[2]}")
        seen[output] = target.where.rpartition(": ")[2]


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
