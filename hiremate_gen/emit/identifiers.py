"""Text as Python identifiers, and the ones that generated code must not take."""

from __future__ import annotations

import builtins
import json
import keyword
import re

from hiremate_gen.emit.helpers import HELPERS

# What generated functions use by a global name, and their own parameters.
_GLOBALS = (
    "torch",
    "F",
    "aten",
    "rng_state",
    "replaying",
    "drain",
    *HELPERS,
    "taken",
    "kept",
    "w",
    "buffers",
    "Any",
    "Tensor",
    "Tensors",
)
RESERVED = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *_GLOBALS})
_LONGEST = 48


def identifier(text: str) -> str:
    """`text` as a Python identifier: dots become underscores, a leading digit gets a word before it.

    Of a path that is too long its end stays, which says most.
    """
    name = re.sub(r"\W", "_", text).strip("_") or "value"
    while len(name) > _LONGEST and "_" in name:
        name = name.partition("_")[2].strip("_") or name[-_LONGEST:]
    name = name[-_LONGEST:]
    return f"layer_{name}" if name[0].isdigit() else name


def short(target: str) -> str:
    """`aten._softmax.default` -> `softmax`, `aten.nll_loss_forward.default` -> `nll_loss`."""
    if "." not in target:
        return target
    return identifier(target.split(".")[1].strip("_").removeprefix("native_").removesuffix("_forward"))


def quoted(text: str) -> str:
    """`text` as a string literal, as black writes it."""
    return json.dumps(text, ensure_ascii=False)


class Taken:
    """Hands out identifiers: of those who want the same one nobody gets it while all have something else to go by."""

    def __init__(self, taken: frozenset[str]) -> None:
        self._taken = set(taken)

    def one(self, wish: str) -> str:
        """`wish`, with the smallest number that makes it free."""
        base = identifier(wish)
        name, n = base, 2
        while name in self._taken:
            name, n = f"{base}_{n}", n + 1
        self._taken.add(name)
        return name

    def all(self, wishes: dict[str, list[str]]) -> dict[str, str]:
        """Name for each key of `wishes`, which lists what it would like to be called, best first."""
        found: dict[str, str] = {}
        depth = max(map(len, wishes.values()), default=0)
        for level in range(depth):
            asked: dict[str, list[str]] = {}
            for key, names in wishes.items():
                if key not in found and level < len(names):
                    asked.setdefault(identifier(names[level]), []).append(key)
            for name, keys in asked.items():
                if len(keys) == 1 and name not in self._taken:
                    found[keys[0]] = self.one(name)
        for key, names in wishes.items():
            if key not in found:
                found[key] = self.one(names[-1])
        return found


def snake(label: str) -> str:
    """`CausalSelfAttention` -> `causal_self_attention`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", label).lower()


def camel(label: str) -> str:
    """`ln_f_lm_head` -> `LnFLmHead`."""
    return "".join(part[:1].upper() + part[1:] for part in label.split("_") if part)
