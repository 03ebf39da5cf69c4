"""The comparison with eager: what is the same passes, and each kind of fault is found and named."""

from __future__ import annotations

from collections.abc import Callable
from random import random
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from hiremate_gen.verify.compare import compare
from hiremate_gen.verify.side import Built, loss_of


class Net(nn.Module):
    """Everything that can differ: dropout, BatchNorm, an unused and a frozen parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.norm = nn.Linear(16, 16), nn.BatchNorm1d(16)
        self.unused, self.frozen = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(16), requires_grad=False)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        h = torch.dropout(self.norm(self.fc(x)) * self.frozen, 0.5, self.training)
        return {"logits": h, "loss": h.pow(2).mean()}


def build(kind: type[nn.Module] = Net) -> Callable[[], Built]:
    def make() -> Built:
        model = kind()
        return model, (torch.randn(8, 16),), {}

    return make


def test_the_same_model_passes_with_equal_peaks() -> None:
    verdict = compare(build(), build())
    assert verdict.equal, verdict.difference
    assert verdict.peak_eager_bytes == verdict.peak_generated_bytes > 0


class DrawsTwice(Net):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        out = super().forward(x)
        if self.training:
            torch.rand(1)
        return out


class Rounds(Net):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        out = super().forward(x)
        return {**out, "loss": out["loss"] * (1 + 1e-6)}


class NormTwice(Net):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        if self.training:
            self.norm(self.fc(x).detach())
        return super().forward(x)


class GradientForUnused(Net):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        out = super().forward(x)
        return {**out, "loss": out["loss"] + 0 * self.unused.sum()}


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * 1.0001


class WrongGradient(Net):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        out = super().forward(Scaled.apply(x) if x.requires_grad else x)
        return {**out, "loss": Scaled.apply(out["loss"])}


class EvalDiffers(Net):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        out = super().forward(x)
        return out if self.training else {**out, "logits": out["logits"] + 1}


class Raises(Net):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        raise ValueError("not planned for this")


class OneForwardOnly(Net):
    calls = 0

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        self.calls += 1
        if self.calls == 5:
            return {k: v * 2 for k, v in super().forward(x).items()}
        return super().forward(x)


class OtherKeys(Net):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("extra", torch.ones(1))


class Keeps(Net):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        out = super().forward(x)
        self.__dict__.setdefault("kept", []).append(torch.zeros(4096))
        return out


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (DrawsTwice, "step 1: random state"),
        (Rounds, "step 1: output['loss'] differs in 1 of 1 elements"),
        (NormTwice, "step 1: buffer norm.running_mean differs in 16 of 16"),
        (GradientForUnused, "step 1: gradient of unused is float32[3], None in eager"),
        (WrongGradient, "step 1: gradient of fc.weight differs in"),
        (EvalDiffers, "evaluation: output['logits'] differs"),
        (Raises, "step 1: the generated model raises ValueError: not planned for this"),
        (OneForwardOnly, "two forwards, one backward, and a step on top: gradient of fc.weight differs"),
        (OtherKeys, "state_dict has other keys than eager's: ['extra']"),
        (Keeps, "bytes more than eager's stay allocated"),
    ],
)
def test_a_fault_is_found_and_named(kind: type[nn.Module], words: str) -> None:
    verdict = compare(build(), build(kind))
    assert not verdict.equal
    assert words in verdict.difference


class Restless(Net):
    """Sums that come out a little different each time, as of threads, unless torch is told to be deterministic."""

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        out = super().forward(x)
        chance = 0.0 if torch.are_deterministic_algorithms_enabled() else random()
        return {**out, "loss": out["loss"] * (1 + 1e-3 * chance)}


class RestlessAndWrong(Restless):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        out = super().forward(x)
        return {**out, "loss": out["loss"] * 1.5}


class Dices(Net):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return super().forward(x * random())


def test_eager_that_is_not_the_same_twice() -> None:
    """Compared where torch is deterministic, and there what differs is a fault; the setting is left as it was."""
    same, wrong, never = (compare(build(a), build(b)) for a, b in
                          ((Restless, Restless), (Restless, RestlessAndWrong), (Dices, Dices)))  # fmt: skip
    assert same.equal and "step 1: output['loss']" in same.unsteady and same.peak_generated_bytes
    assert not wrong.equal and not wrong.unsteady
    assert not never.equal and "step 1: output" in never.unsteady
    assert not torch.are_deterministic_algorithms_enabled()


def test_an_error_in_the_original_is_not_hidden() -> None:
    with pytest.raises(ValueError, match="not planned"):
        compare(build(Raises), build())


def test_nans_in_the_same_places_are_equal() -> None:
    class Nan(Net):
        def forward(self, x: Tensor) -> dict[str, Tensor]:
            out = super().forward(x)
            return {**out, "loss": out["loss"] * float("nan")}

    assert compare(build(Nan), build(Nan), peaks=False).equal


def test_the_caller_s_random_state_is_left_alone() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    compare(build(), build(), steps=1, peaks=False)
    assert torch.equal(before, torch.get_rng_state())


def test_gradients_of_inputs_count() -> None:
    def make(factor: float) -> Callable[[], Built]:
        class Input(nn.Module):
            def forward(self, x: Tensor) -> Tensor:
                y = x * factor
                return y + (x * (1 - factor)).detach()

        return lambda: (Input(), (torch.ones(4, requires_grad=True),), {})

    assert compare(make(1.0), make(1.0)).equal
    assert compare(make(1.0), make(0.5)).difference.startswith("step 1: gradient of input 1 differs in 4 of 4")


def test_loss_follows_the_trainer_s_conventions() -> None:
    x = torch.ones(3, requires_grad=True)
    assert loss_of((x * 2, (x * 3).sum())).item() == 9
    assert loss_of([x * 2, x * 3]).item() == 4 + 9
    assert loss_of(torch.max(x.view(1, 3) * 2, dim=1)).item() == 4
    with pytest.raises(ValueError, match="nothing to train"):
        loss_of(x.detach())
