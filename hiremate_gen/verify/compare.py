"""Train the original and the generated model side by side and find the first thing that differs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from hiremate_gen.verify.equal import difference, tree_difference
from hiremate_gen.verify.measure import Memory, step_memory
from hiremate_gen.verify.side import Built, Side, backward, loss_of, make_side, random_state

TRIES = 3  # of eager against itself, which may agree by chance
LEFT_OVER_BYTES = 4096  # small things that a Python object may keep


@dataclass(frozen=True, slots=True)
class Verdict:
    """`difference` names the first thing that is not as in eager, empty when all is; peaks are 0 when not measured.

    `unsteady` names the first thing that eager itself does not compute twice the same: the two were then compared with
    torch's deterministic algorithms.  `changes`, where they differ, is what a step of eager changes in its modules
    besides tensors: "cache", or empty.
    """

    equal: bool
    difference: str
    peak_eager_bytes: int = 0
    peak_generated_bytes: int = 0
    unsteady: str = ""
    changes: str = ""


def compare(
    original: Callable[[], Built],
    generated: Callable[[], Built],
    *,
    steps: int = 3,
    seed: int = 0,
    peaks: bool = True,
    eager_peak: bool = True,
) -> Verdict:
    """Build both with the same seed and run them: `steps` optimizer steps in train mode, two forwards before one
    backward with gradients accumulated on top, an evaluation, and a step at the allocator.

    Eager's own peak is measured only with `eager_peak`, or to tell whether what is left allocated is eager's way too.
    An exception in the original passes through; one in the generated model is a difference.  The caller's random
    state is left as it was.
    """
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        eager, other = _pair(original, generated, seed)
        found, unsteady = next(_differences(eager, other, steps, seed), ""), ""
        if found:
            unsteady = _unsteady(original, steps, seed, TRIES)
        if unsteady:
            with deterministic():
                eager, other = _pair(original, generated, seed)
                found = next(_differences(eager, other, steps, seed), "")
                if found and not _unsteady(original, steps, seed, 1):
                    unsteady = ""  # what differs now is not eager's doing
        if found or not peaks:
            return Verdict(not found, found, unsteady=unsteady, changes=_changes(original, seed) if found else "")
        theirs = _memory(other)
        doubtful = eager_peak or theirs.kept_bytes > LEFT_OVER_BYTES
        mine = _memory(eager) if doubtful else Memory(0, 0)
    kept = theirs.kept_bytes - mine.kept_bytes
    left = f"{kept} bytes more than eager's stay allocated after a step" if kept > LEFT_OVER_BYTES else ""
    return Verdict(not left, left, mine.peak_bytes, theirs.peak_bytes, unsteady)


def _pair(original: Callable[[], Built], generated: Callable[[], Built], seed: int) -> tuple[Side, Side]:
    """Both models, of the same weights and on the same inputs."""
    torch.manual_seed(seed)
    eager = make_side(original())
    torch.manual_seed(seed)
    return eager, make_side(generated(), inputs=eager)


def _unsteady(original: Callable[[], Built], steps: int, seed: int, tries: int) -> str:
    """What eager does not compute twice the same: kernels that add up as threads come by differ from run to run."""
    pairs = (_pair(original, original, seed) for _ in range(tries))
    return next((found for pair in pairs for found in _differences(*pair, steps, seed)), "")


def _changes(original: Callable[[], Built], seed: int) -> str:
    """The first attribute that a step changes: of numbers and texts the value counts, of containers their size."""
    side, _ = _pair(original, original, seed)

    def state() -> dict[str, object]:
        plain = (bool, int, float, str, type(None))
        return {
            f"{path}.{name}".lstrip("."): len(value) if isinstance(value, Sized) else value
            for path, module in side.model.named_modules()
            for name, value in vars(module).items()
            if isinstance(value, plain) or (isinstance(value, Sized) and not isinstance(value, Tensor))
        }

    before = state()
    _try(side.step, mute=True)
    return next((name for name, value in state().items() if before.get(name) != value), "")


@contextmanager
def deterministic() -> Iterator[None]:
    """While inside, torch takes kernels that give the same bits each time, where it has them."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


def _differences(eager: Side, other: Side, steps: int, seed: int) -> Iterator[str]:
    """Every difference, in the order in which they would arise; the first one is what is told."""
    ours, theirs = list(eager.model.state_dict()), list(other.model.state_dict())
    if ours != theirs:
        yield f"state_dict has other keys than eager's: {sorted(set(ours) ^ set(theirs)) or 'in another order'}"
    yield from _states("before the first step", eager, other)
    for side in (eager, other):
        side.model.train()
    for at in range(steps):
        yield from _one_step(f"step {at + 1}", eager, other, seed + 100 + at)
    yield from _accumulation(eager, other, seed + 7)
    yield from _evaluation(eager, other, seed + 5)


def _one_step(when: str, eager: Side, other: Side, seed: int) -> Iterator[str]:
    outputs, ends = [], []
    for side in (eager, other):
        side.clear()
        torch.manual_seed(seed)
        out, error = _try(side.step, mute=side is other)
        if error:
            yield f"{when}: {error}"
            return
        outputs.append(tree_map(lambda t: t.detach() if isinstance(t, Tensor) else t, out))
        ends.append(random_state(side))
        del out
    yield from _said(when, tree_difference("output", *outputs))
    yield from _said(when, tree_difference("random state", *ends))
    yield from _gradients(when, eager, other)
    for side in (eager, other):
        if side.optimizer is not None:
            side.optimizer.step()
    yield from _states(when, eager, other)


def _accumulation(eager: Side, other: Side, seed: int) -> Iterator[str]:
    when = "two forwards, one backward, and a step on top"

    def run(side: Side) -> None:
        backward(loss_of(side.run()) + loss_of(side.run()))
        side.step()

    for side in (eager, other):
        side.clear()
        torch.manual_seed(seed)
        _, error = _try(partial(run, side), mute=side is other)
        if error:
            yield f"{when}: {error}"
            return
    yield from _gradients(when, eager, other)
    yield from _states(when, eager, other)


def _evaluation(eager: Side, other: Side, seed: int) -> Iterator[str]:
    outputs = []
    for side in (eager, other):
        side.clear()
        side.model.eval()
        torch.manual_seed(seed)
        with torch.no_grad():
            out, error = _try(side.run, mute=side is other)
        side.model.train()
        if error:
            yield f"evaluation: {error}"
            return
        outputs.append(out)
    yield from _said("evaluation", tree_difference("output", *outputs))


def _gradients(when: str, eager: Side, other: Side) -> Iterator[str]:
    for (name, p), q in zip(eager.model.named_parameters(), other.model.parameters(), strict=True):
        yield from _said(when, difference(f"gradient of {name}", p.grad, q.grad))
    for at, (x, y) in enumerate(zip(eager.inputs, other.inputs, strict=True)):
        yield from _said(when, difference(f"gradient of input {at + 1}", x.grad, y.grad))


def _states(when: str, eager: Side, other: Side) -> Iterator[str]:
    for what in ("parameters", "buffers"):
        ours, theirs = (dict(getattr(side.model, f"named_{what}")()) for side in (eager, other))
        if list(ours) != list(theirs):
            yield f"{when}: {what} have other names than eager's: {sorted(set(ours) ^ set(theirs))}"
            return
        for name in ours:
            yield from _said(when, difference(f"{what[:-1]} {name}", ours[name].detach(), theirs[name].detach()))
    for at, (x, y) in enumerate(zip(eager.inputs, other.inputs, strict=True)):
        yield from _said(when, difference(f"input {at + 1}", x.detach(), y.detach()))


def _said(when: str, found: str | None) -> Iterator[str]:
    if found is not None:
        yield f"{when}: {found}"


def _try(call: Callable[[], Any], *, mute: bool) -> tuple[Any, str]:
    """The result, and the exception in words when it is the generated model's."""
    try:
        return call(), ""
    except Exception as error:
        if not mute:
            raise
        return None, f"the generated model raises {type(error).__name__}: {error}"


def _memory(side: Side) -> Memory:
    """A step at the allocator, warm from the steps before, without their gradients; none count as left over."""
    side.clear()
    seen = step_memory(lambda: backward(loss_of(side.run())), side.static)  # outputs are not held in backward
    grads = [p.grad for p in [*side.model.parameters(), *side.inputs] if p.grad is not None]
    held = sum(g.untyped_storage().nbytes() for g in grads if not g.is_sparse)
    side.clear()
    return Memory(seen.peak_bytes, seen.kept_bytes - held)
