"""Model and inputs, with or without the memory that they stand for."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils import _pytree as pytree

from hiremate_gen.errors import HiremateError, LoadError
from hiremate_gen.load.convert import replacing
from hiremate_gen.load.recipe import Inputs, Recipe, check_call
from hiremate_gen.load.small import SmallValues


@dataclass(frozen=True, slots=True)
class Built:
    """One model in train mode and the arguments of one step; all fake tensors belong to `fake_mode`."""

    model: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    fake_mode: FakeTensorMode | None = None
    notes: tuple[str, ...] = ()


def build_real(recipe: Recipe, device: str, seed: int) -> Built:
    """Model, then inputs, both from `seed`; the generators of the process stay as they are.  Raises LoadError."""
    with own_randomness(seed, device):
        model = recipe.make_model().to(device)
        inputs = check_call(model, recipe.make_inputs(), recipe.source)
        return Built(model, *_inputs_on(inputs, device))


def fake_mode() -> FakeTensorMode:
    """A mode in which tensors have no memory; real ones that were made at import may mix with them."""
    return FakeTensorMode(allow_non_fake_inputs=True)


def build_fake(recipe: Recipe, mode: FakeTensorMode, device: str, seed: int) -> Built:
    """As `build_real` without the memory; falls back to it, with a note, where the user's code reads values.

    Raises LoadError.
    """
    try:
        model = _fake_model(recipe, mode, device, seed)
    except HiremateError as error:
        built = build_real(recipe, device, seed)
        reason = str(error.__cause__ or error).strip().partition("\n")[0]
        note = f"the model takes its real memory here, since building it reads values: {error.where}: {reason}"
        return Built(built.model, built.args, built.kwargs, None, (note,))
    with own_randomness(seed, device):
        try:
            with mode:
                inputs = recipe.make_inputs()
        except HiremateError:
            inputs = recipe.make_inputs()  # they read values: real ones are small, and only their shapes are kept
        inputs = check_call(model, inputs, recipe.source)
        with mode:
            args, kwargs = _inputs_on(pytree.tree_map(lambda leaf: _fake(leaf, mode), inputs), device)
    return Built(model, args, kwargs, mode)


def _fake_model(recipe: Recipe, mode: FakeTensorMode, device: str, seed: int) -> torch.nn.Module:
    """Raises what the first attempt raised when the second, which gives small tensors their values, fails too."""
    try:
        with own_randomness(seed, device), mode, replacing():
            return _all_fake(recipe.make_model(), mode).to(device)
    except HiremateError as error:
        try:
            with own_randomness(seed, device), mode, replacing(), SmallValues():
                model = recipe.make_model()
            with mode, replacing():
                return _all_fake(model, mode).to(device)
        except HiremateError:
            raise error from error.__cause__


@contextmanager
def own_randomness(seed: int, device: str) -> Iterator[None]:
    """Seeded generators inside; torch's, Python's and numpy's go on outside as if nothing had happened."""
    numpy = sys.modules.get("numpy")
    python_state = random.getstate()
    numpy_state = numpy.random.get_state() if numpy is not None else None
    devices = [torch.device(device)] if device.startswith("cuda") else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        random.seed(seed)
        if numpy is not None:
            numpy.random.seed(seed % 2**32)
        try:
            yield
        finally:
            random.setstate(python_state)
            if numpy is not None:
                numpy.random.set_state(numpy_state)


def check_device(device: str) -> None:
    """Raises LoadError when torch cannot use the device: fake tensors on a missing one would end the process."""
    try:
        kind = torch.device(device).type
    except RuntimeError:
        raise LoadError(f"there is no device {device}", where="--device", hint="use cpu or cuda") from None
    if kind not in ("cpu", "cuda"):
        raise LoadError(f"{device} is not supported", where="--device", hint="use cpu or cuda")
    if kind == "cuda" and not torch.cuda.is_available():
        hint = "run on a machine that has one, or plan with --device cpu"
        raise LoadError("this torch finds no CUDA device", where="--device", hint=hint)


def _inputs_on(inputs: Inputs, device: str) -> Inputs:
    moved: Inputs = pytree.tree_map(lambda leaf: _to(leaf, device), inputs)
    return moved


def _to(leaf: Any, device: str) -> Any:
    if not isinstance(leaf, torch.Tensor) or leaf.device == torch.device(device):
        return leaf
    return leaf.detach().to(device).requires_grad_(leaf.requires_grad)


def _fake(leaf: Any, mode: FakeTensorMode) -> Any:
    """A tensor of `mode`: copy.deepcopy of a fake tensor copies its mode as well, which then is another one."""
    if isinstance(leaf, FakeTensor) and leaf.fake_mode is not mode:
        with mode:
            fresh = torch.empty_strided(leaf.shape, leaf.stride(), dtype=leaf.dtype, device=leaf.device)
        return torch.nn.Parameter(fresh, leaf.requires_grad) if isinstance(leaf, torch.nn.Parameter) else fresh
    return mode.from_tensor(leaf) if isinstance(leaf, torch.Tensor) and not isinstance(leaf, FakeTensor) else leaf


def _all_fake(model: torch.nn.Module, mode: FakeTensorMode) -> torch.nn.Module:
    """Parameters, buffers and plain tensors that are not of the mode (made from numpy, when the file was imported, or
    by copy.deepcopy) join it; what was one tensor stays one."""
    joined: dict[torch.Tensor, Any] = {}
    for module in model.modules():
        for table in (module._parameters, module._buffers, vars(module)):
            for name, tensor in table.items():
                own = isinstance(tensor, FakeTensor) and tensor.fake_mode is mode
                if isinstance(tensor, FakeTensor if table is vars(module) else torch.Tensor) and not own:
                    if tensor not in joined:
                        joined[tensor] = _fake(tensor, mode)
                    table[name] = joined[tensor]
    return model
