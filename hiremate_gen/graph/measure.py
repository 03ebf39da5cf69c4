"""Measure ops on the device: seconds as a median of interleaved runs, workspace at the allocator."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.profiler import ProfilerActivity, profile

from hiremate_gen.graph.call import resolve
from hiremate_gen.graph.profile import Measured, Profile
from hiremate_gen.graph.sample import real_arguments
from hiremate_gen.graph.signature import signature
from hiremate_gen.graph.workspace import output_bytes

SHORT_S = 5e-4  # a run of ops shorter than this is timed as a loop


class OpCall(NamedTuple):
    """One op as the emitted file calls it, with fake tensors in place of values."""

    target: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    outputs: object


@dataclass(frozen=True, slots=True)
class Allocation:
    """Bytes above those live before a call: the most during it, and what its results keep."""

    peak_bytes: int
    kept_bytes: int


def measure(
    calls: Iterable[OpCall],
    device: str = "cpu",
    *,
    rounds: int = 5,
    progress: Callable[[int, int], None] | None = None,
) -> Profile:
    """Run each distinct op `rounds` times, all ops once a round, so that a slow moment meets them all alike.

    Random state is left as it was.  Raises RuntimeError as torch does when an op cannot run on the device.
    """
    distinct = {signature(c.target, c.args, c.kwargs): c for c in calls}
    times: dict[str, list[float]] = {s: [] for s in distinct}
    inside: dict[str, int] = {}
    devices = [torch.device(device)] if device.startswith("cuda") else []
    with torch.random.fork_rng(devices=devices), torch.no_grad():
        for turn in range(rounds):
            for at, (name, call) in enumerate(distinct.items()):
                run = _runner(call, device)
                if turn == 0:
                    inside[name] = _workspace(call, run, device)
                times[name].append(_seconds(run, device))
                if progress is not None:
                    progress(turn * len(distinct) + at + 1, rounds * len(distinct))
    ops = {s: Measured(statistics.median(times[s]), inside[s]) for s in distinct}
    return Profile(device_name(device), torch.__version__.split("+")[0], torch.get_num_threads(), ops)


def device_name(device: str) -> str:
    """ "cpu", or the GPU's own name."""
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device


def allocation(call: Callable[[], object], device: str = "cpu") -> Allocation:
    """Run `call` once and watch the allocator: its events on the CPU, its counters on CUDA."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        result = call()
        torch.cuda.synchronize(device)
        peak, kept = torch.cuda.max_memory_allocated(device) - before, torch.cuda.memory_allocated(device) - before
        del result
        return Allocation(peak, kept)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        result = call()
    assert recorded.profiler is not None and recorded.profiler.kineto_results is not None
    events = [e for e in recorded.profiler.kineto_results.events() if e.name() == "[memory]"]
    del result
    live = top = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        live += event.nbytes()
        top = max(top, live)
    return Allocation(top, live)


def _runner(call: OpCall, device: str) -> Callable[[], object]:
    op = resolve(call.target)
    args, kwargs = real_arguments(call.target, call.args, call.kwargs, device, torch.Generator().manual_seed(0))
    return lambda: op(*args, **kwargs)


def _workspace(call: OpCall, run: Callable[[], object], device: str) -> int:
    run()  # kernels are chosen, and caches filled, on the first call
    counted = sum(output_bytes(*call))
    return max(0, allocation(run, device).peak_bytes - counted)


def _seconds(run: Callable[[], object], device: str) -> float:
    first = _elapsed(run, 1, device)
    repeats = max(1, min(50, int(SHORT_S / max(first, 1e-7))))
    return _elapsed(run, repeats, device) / repeats


def _elapsed(run: Callable[[], object], repeats: int, device: str) -> float:
    cuda = device.startswith("cuda")
    if cuda:
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    if cuda:
        torch.cuda.synchronize(device)
    return time.perf_counter() - start
