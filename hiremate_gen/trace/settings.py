"""Settings: plain attributes of modules that forward reads, as dropout's `p` or a number of heads.

A plan holds for their values alone, and nothing else that a file checks tells of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import nn

_PLAIN = (bool, int, float, str)

Values = Mapping[tuple[str, str], object]  # by path of the module and name


def plain(model: nn.Module) -> Values:
    """All plain attributes of a model's modules."""
    return {
        (path, name): value
        for path, module in model.named_modules()
        for name, value in vars(module).items()
        if isinstance(value, _PLAIN)
    }


@contextmanager
def reads(model: nn.Module) -> Iterator[set[str]]:
    """Names of plain attributes that are read of the model's modules meanwhile, and never set: what forward changes
    itself, such as a counter, is no setting.  Private names and `training` are left out."""
    modules = {id(module) for module in model.modules()}
    names: set[str] = set()
    changed: set[str] = set()
    assign = nn.Module.__setattr__

    def look(module: nn.Module, name: str) -> object:
        value = object.__getattribute__(module, name)
        if isinstance(value, _PLAIN) and id(module) in modules and name in object.__getattribute__(module, "__dict__"):
            names.add(name)
        return value

    def note(module: nn.Module, name: str, value: Any) -> None:
        if id(module) in modules:
            changed.add(name)
        assign(module, name, value)

    nn.Module.__getattribute__ = look  # type: ignore[method-assign, assignment]
    nn.Module.__setattr__ = note  # type: ignore[method-assign, assignment]
    try:
        yield names
    finally:
        del nn.Module.__getattribute__  # that of `object` is there again
        nn.Module.__setattr__ = assign  # type: ignore[method-assign]
        names -= {name for name in names if name.startswith("_") or name == "training"} | changed


def steady(names: set[str], before: Values, after: Values) -> tuple[str, ...]:
    """Those of `names` whose values are everywhere what they were before forward ever ran."""
    changed = {key[1] for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    return tuple(sorted(names - changed))
