"""What a generated file holds its callers to: parameters, the arguments of forward, the structure of its result."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from hiremate_gen.errors import UnsupportedError

_Kind = inspect.Parameter
_SIMPLE = (type(None), bool, int, float, str)


def digest(model: nn.Module, settings: Sequence[str]) -> tuple[int, str]:
    """How many elements the parameters have, and a digest of their names, shapes, dtypes and requires_grad, of the
    modules that are in evaluation and of the plain attributes of modules that have the names `settings`.

    The emitted `check_step` computes the same digest from the model that it is given.
    """
    rows = [f"{n} {tuple(p.shape)} {p.dtype} {p.requires_grad};" for n, p in model.named_parameters()]
    rows += [f"{n} eval;" for n, m in model.named_modules() if not m.training]
    found = [(n, k, vars(m).get(k)) for n, m in model.named_modules() for k in settings]
    rows += [f"{n}.{k} {v!r};" for n, k, v in found if isinstance(v, (bool, int, float, str))]
    return sum(p.numel() for p in model.parameters()), hashlib.sha256("".join(rows).encode()).hexdigest()[:16]


def unset(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Parameters of forward that the example leaves at their defaults, with the source of the default."""
    bound = inspect.signature(model.forward).bind(*args, **kwargs).arguments
    return tuple(
        (name, repr(p.default))
        for name, p in inspect.signature(model.forward).parameters.items()
        if name not in bound and isinstance(p.default, _SIMPLE)
    )


def shared(model: nn.Module) -> frozenset[str]:
    """Paths of the parameters and buffers whose memory is that of one before them, as of tied weights."""
    seen: set[int] = set()
    found = set()
    tensors = (*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False))
    for path, tensor in tensors:
        if tensor.layout == torch.strided:
            storage = tensor.untyped_storage()._cdata
            if storage in seen:
                found.add(path)
            seen.add(storage)
    return frozenset(found)


def named_arguments(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Each argument, in order, with its source text on the parameters of forward: `x`, `args[0]`, `kwargs['y']`."""
    parameters = inspect.signature(model.forward).parameters
    kinds = [(name, p.kind) for name, p in parameters.items()]
    plain = [name for name, kind in kinds if kind in (_Kind.POSITIONAL_ONLY, _Kind.POSITIONAL_OR_KEYWORD)]
    rest = next((name for name, kind in kinds if kind is _Kind.VAR_POSITIONAL), "")
    more = next((name for name, kind in kinds if kind is _Kind.VAR_KEYWORD), "")
    rows = [(plain[at] if at < len(plain) else f"{rest}[{at - len(plain)}]", value) for at, value in enumerate(args)]
    keys = {name for name, kind in kinds if kind in (_Kind.POSITIONAL_OR_KEYWORD, _Kind.KEYWORD_ONLY)}
    return (*rows, *((key if key in keys else f"{more}[{key!r}]", value) for key, value in kwargs.items()))


def open_ended(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """How many arguments `*args` takes and which `**kwargs`: source text, and that of what is planned for."""
    bound = inspect.signature(model.forward).bind(*args, **kwargs).arguments
    rows = []
    for name, p in inspect.signature(model.forward).parameters.items():
        if p.kind is _Kind.VAR_POSITIONAL:
            rows.append((f"len({name})", repr(len(bound.get(name, ())))))
        elif p.kind is _Kind.VAR_KEYWORD:
            rows.append((f"sorted({name})", repr(sorted(bound.get(name, {})))))
    return tuple(rows)


def result_source(structure: pytree.TreeSpec, leaves: Sequence[str]) -> str:
    """Source of what the model returns, given the source of its leaves in order."""
    source, used = _source(structure, leaves, 0)
    assert used == len(leaves)
    return source


def _source(spec: pytree.TreeSpec, leaves: Sequence[str], at: int) -> tuple[str, int]:
    if spec.is_leaf():
        return leaves[at], at + 1
    parts = []
    for child in spec.children():
        text, at = _source(child, leaves, at)
        parts.append(text)
    kind = spec.type
    if kind is tuple:
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})", at
    if kind is list:
        return f"[{', '.join(parts)}]", at
    if kind in (dict, OrderedDict):
        items = ", ".join(f"{key!r}: {text}" for key, text in zip(spec.context, parts, strict=True))
        return f"{{{items}}}", at
    if dataclasses.is_dataclass(kind) and isinstance(spec.context, list) and len(spec.context) == 2:
        names, missing = spec.context
        fields = [*(f"{n}={text}" for n, text in zip(names, parts, strict=True)), *(f"{n}=None" for n in missing)]
        return f"{getattr(kind, '__name__', '')}({', '.join(fields)})", at
    if is_namedtuple(spec):
        return f"{spec.context.__name__}({', '.join(parts)})", at
    raise UnsupportedError(f"forward returns a {getattr(kind, '__name__', kind)}: return tensors in a tuple or dict")


def leaf_paths(structure: pytree.TreeSpec) -> tuple[str, ...]:
    """Where each leaf stands in what the model returns, as Python source behind it: `[1]`, `['logits']`, `.logits`."""
    result = pytree.tree_unflatten(list(range(structure.num_leaves)), structure)
    return tuple(pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path(result)[0])


def is_namedtuple(spec: pytree.TreeSpec) -> bool:
    """Whether the outermost container is a named tuple; its class is then the context."""
    return not spec.is_leaf() and isinstance(spec.context, type) and pytree.is_namedtuple_class(spec.context)
