"""Physical memory of one step, at the allocator: its events on the CPU, its counters on CUDA."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of a step: the most live at any moment, static tensors included, and what is left when it has ended."""

    peak_bytes: int
    kept_bytes: int


def peak_bytes(step: Callable[[], object], static_tensors: Iterable[Tensor]) -> int:
    """The most bytes live during `step`, the storages of `static_tensors` included.

    Clear gradients and run the step once before: first calls fill caches.
    """
    return step_memory(step, static_tensors).peak_bytes


def step_memory(step: Callable[[], object], static_tensors: Iterable[Tensor]) -> Memory:
    """Run `step` once and watch the allocator of the device that the static tensors lie on."""
    static = tuple(static_tensors)
    devices = [t.device for t in static if t.device.type == "cuda"]
    peak, kept = _cuda(step, devices[0]) if devices else _cpu(step)
    return Memory(peak + static_bytes(static), kept)


def static_bytes(tensors: Iterable[Tensor]) -> int:
    """Bytes of the storages behind the tensors, each counted once."""
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors if not t.is_sparse}
    return sum(storages.values())


def _cpu(step: Callable[[], object]) -> tuple[int, int]:
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        result = step()
    assert recorded.profiler is not None and recorded.profiler.kineto_results is not None
    events = [e for e in recorded.profiler.kineto_results.events() if e.name() == "[memory]"]
    del result
    live = top = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        live += event.nbytes()
        top = max(top, live)
    return top, live


def _cuda(step: Callable[[], object], device: torch.device) -> tuple[int, int]:
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    result = step()
    torch.cuda.synchronize(device)
    peak, kept = torch.cuda.max_memory_allocated(device) - before, torch.cuda.memory_allocated(device) - before
    del result
    return peak, kept
