"""Compare a generated file with the model.py that it was made from, with torch alone.

    python tests/against_eager.py MODEL.py GENERATED.py

Prints one JSON object: the comparisons that failed, and the peaks that the allocator saw.  Equal means bit for bit.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch.utils._pytree import tree_leaves, tree_map

STEPS = 3
LEAK_BYTES = 4096


@dataclass
class Pair:
    """The model of model.py, the generated one with the same state, and the inputs of one step."""

    eager: nn.Module
    planned: nn.Module
    inputs: Any

    def __iter__(self) -> Iterator[nn.Module]:
        yield self.eager
        yield self.planned


def load(path: str, name: str) -> ModuleType:
    """Import a file under a name of its own."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def build(module: ModuleType) -> nn.Module:
    if hasattr(module, "build_model"):
        model: nn.Module = module.build_model()
        return model
    own = [c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__]
    return [c for c in own if issubclass(c, nn.Module)][-1]()


def pair(original: str, generated: str) -> Pair:
    modules = load(original, "original"), load(generated, "generated")
    models = []
    for module in modules:
        torch.manual_seed(0)
        models.append(build(module))
    torch.manual_seed(1)
    return Pair(*models, modules[0].example_inputs())


def run(model: nn.Module, inputs: Any) -> Any:
    match inputs:
        case dict():
            return model(**inputs)
        case tuple():
            return model(*inputs)
        case _:
            return model(inputs)


def loss(out: Any) -> Tensor:
    """What a trainer would use: the scalar that the model returns, else something of all that it returns."""
    found = [t for t in tree_leaves(out) if isinstance(t, Tensor) and t.requires_grad]
    scalars = [t for t in found if t.ndim == 0]
    called = out.get("loss") if isinstance(out, dict) else None
    if scalars:
        return next((t for t in scalars if t is called), scalars[0])
    return torch.stack([t.square().mean() for t in found]).sum()


def gradients(model: nn.Module) -> list[Tensor | None]:
    return [p.grad for p in model.parameters()]


def equal(left: Any, right: Any) -> bool:
    """The same structure, and every leaf the same to the bit."""
    left, right = tree_leaves(left), tree_leaves(right)
    return len(left) == len(right) and all(
        torch.equal(a, b) if isinstance(a, Tensor) and isinstance(b, Tensor) else type(a) is type(b) and a == b
        for a, b in zip(left, right, strict=True)
    )


def same_state(both: Pair) -> dict[str, bool]:
    """Names, shapes and values of parameters and buffers as constructed."""
    eager, planned = (model.state_dict() for model in both)
    return {"state_dict": list(eager) == list(planned) and equal(list(eager.values()), list(planned.values()))}


def training(both: Pair) -> dict[str, bool]:
    """Several optimizer steps with momentum, from the same seed each."""
    seen: list[list[Any]] = []
    for model in both:
        model.train()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
        rows = []
        for step in range(STEPS):
            optimizer.zero_grad()
            torch.manual_seed(100 + step)
            out = run(model, both.inputs)
            value = loss(out)
            value.backward()
            rows.append((value.detach(), tree_map(_detached, out), _copies(gradients(model)), torch.get_rng_state()))
            optimizer.step()
        seen.append(rows)
    result = {
        name: all(equal(a[k], b[k]) for a, b in zip(*seen, strict=True))
        for k, name in enumerate(("loss", "outputs", "gradients", "random state"))
    }
    result["parameters"] = equal(list(both.eager.parameters()), list(both.planned.parameters()))
    result["buffers"] = equal(list(both.eager.buffers()), list(both.planned.buffers()))
    return result


def accumulation(both: Pair) -> dict[str, bool]:
    """Two forwards before any backward, then the first one's backward first, the second's on top."""
    found = []
    for model in both:
        model.zero_grad()
        torch.manual_seed(7)
        first, second = loss(run(model, both.inputs)), loss(run(model, both.inputs))
        first.backward()
        second.backward()
        found.append(_copies(gradients(model)))
        model.zero_grad()
    return {"two forwards, two backwards": equal(*found)}


def evaluation(both: Pair) -> dict[str, bool]:
    """eval() without gradients, eval() with them, and train() without."""
    result = {}
    for name, train, grad in (("eval", False, False), ("eval with grad", False, True), ("train, no_grad", True, False)):
        found = []
        for model in both:
            model.train(train)
            torch.manual_seed(5)
            with torch.set_grad_enabled(grad):
                found.append(tree_map(_detached, run(model, both.inputs)))
            model.train()
        result[name] = equal(*found) and equal(list(both.eager.buffers()), list(both.planned.buffers()))
    return result


def twice(both: Pair) -> dict[str, bool]:
    """A second backward fails as eager's does, and the model still works afterwards."""
    errors = []
    for model in both:
        value = loss(run(model, both.inputs))
        value.backward()
        try:
            value.backward()
            errors.append("")
        except RuntimeError as error:
            errors.append("second time" if "second time" in str(error) else str(error))
        model.zero_grad()
    return {"second backward": errors[0] == errors[1]}


def _copies(tensors: list[Tensor | None]) -> list[Tensor | None]:
    return [None if t is None else t.clone() for t in tensors]


def _detached(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


def peak(model: nn.Module, inputs: Any) -> tuple[int, int]:
    """Bytes of tensors at the worst moment of a step, and those still there afterwards that are no gradients."""
    model.zero_grad()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        loss(run(model, inputs)).backward()
    grads = _bytes(t for t in gradients(model) if t is not None)
    model.zero_grad()
    assert recorded.profiler is not None and recorded.profiler.kineto_results is not None
    now = top = 0
    events = recorded.profiler.kineto_results.events()
    for event in sorted((e for e in events if e.name() == "[memory]"), key=lambda e: e.start_ns()):
        now += event.nbytes()
        top = max(top, now)
    tensors = (*model.parameters(), *model.buffers(), *(t for t in tree_leaves(inputs) if isinstance(t, Tensor)))
    return top + _bytes(tensors), now - grads


def _bytes(tensors: Any) -> int:
    """Of the storages behind them, each once."""
    return sum({s.data_ptr(): s.nbytes() for s in (t.untyped_storage() for t in tensors)}.values())


def compare(original: str, generated: str) -> dict[str, Any]:
    both = pair(original, generated)
    checks: tuple[Callable[[Pair], dict[str, bool]], ...] = (same_state, training, accumulation, evaluation, twice)
    failed = [name for check in checks for name, good in check(both).items() if not good]
    (eager_peak, eager_left), (planned_peak, planned_left) = (peak(model, both.inputs) for model in both)
    if planned_left > eager_left + LEAK_BYTES:
        failed.append("nothing stays allocated")
    return {"failed": failed, "eager_peak_bytes": eager_peak, "peak_bytes": planned_peak}


if __name__ == "__main__":
    torch.set_num_threads(2)
    sys.modules["hiremate_gen"] = None  # type: ignore[assignment]  # a generated file must not need it
    sys.dont_write_bytecode = True
    print(json.dumps(compare(str(Path(sys.argv[1])), str(Path(sys.argv[2])))))
