"""Real steps in one process: the peak of each from the allocator's events, then their times, taken in turns.

    real.py SPEC-AS-JSON

`contenders` of the spec are `[label, kind, argument]`: "file" runs a file, "eager" the model, "checkpoint" the model
with `torch.utils.checkpoint` around each child of a module, "compile" it compiled with an activation memory budget.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

Step = Callable[[], None]


def main(spec: dict[str, Any]) -> dict[str, Any]:
    torch.set_num_threads(spec["threads"])
    rows: dict[str, dict[str, Any]] = {}
    steps: dict[str, Step] = {}
    for label, kind, argument in spec["contenders"]:
        try:
            model, steps[label], static = _contender(spec, kind, argument)
            steps[label]()
            rows[label] = {"peak_bytes": static + [_peak(model, steps[label]) for _ in range(2)][-1]}
        except Exception as error:  # what one contender cannot do is a result, too
            rows[label] = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
            steps.pop(label, None)
    taken: dict[str, list[float]] = {label: [] for label in steps}
    for _ in range(spec["rounds"]):
        for label, step in steps.items():
            began = time.perf_counter()
            step()
            taken[label].append(time.perf_counter() - began)
    for label, times in taken.items() if spec["rounds"] else ():
        rows[label]["step_s"] = statistics.median(times)
        rows[label]["ratio"] = statistics.median(a / b for a, b in zip(times, taken["eager"], strict=True))
    return rows


def _contender(spec: dict[str, Any], kind: str, argument: Any) -> tuple[nn.Module, Step, int]:
    """A model, a step of it, and the bytes of what is there before and after it."""
    module = _module(argument if kind == "file" else spec["path"])
    torch.manual_seed(0)
    model: nn.Module = eval(spec["model"], vars(module)) if spec["model"] else module.build_model()
    torch.manual_seed(1)
    inputs = [eval(text, vars(module)) for text in spec["inputs"]] or list(module.example_inputs())
    run: Callable[..., Tensor] = model
    if kind == "checkpoint":
        for block in model.get_submodule(argument).children():
            block.forward = _checkpointed(block.forward)  # type: ignore[method-assign]
    if kind == "compile":
        backend, fraction = argument
        torch._dynamo.reset()
        with torch._functorch.config.patch(activation_memory_budget=fraction):
            run = torch.compile(model, backend=backend)
            run(*inputs).backward()
    model.train()

    def step() -> None:
        model.zero_grad(set_to_none=True)
        run(*inputs).backward()

    static = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes()
              for t in (*model.parameters(), *model.buffers(), *inputs)}  # fmt: skip
    return model, step, sum(static.values())


def _checkpointed(forward: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: checkpoint(forward, *args, use_reentrant=False)


def _module(path: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"file_{len(sys.modules)}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _peak(model: nn.Module, step: Step) -> int:
    """The largest sum of bytes that are allocated and not yet freed, gradients of the step before not counted."""
    model.zero_grad(set_to_none=True)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as run:
        step()
    events = [e for e in run.profiler.kineto_results.events() if e.name() == "[memory]"]
    now = top = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        now += event.nbytes()
        top = max(top, now)
    return top


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
