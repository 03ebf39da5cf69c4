"""Words for differences."""

from __future__ import annotations

import pytest
import torch

from hiremate_gen.verify.equal import difference, tree_difference

NAN = float("nan")


@pytest.mark.parametrize(
    ("eager", "generated", "words"),
    [
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]), "x differs in 1 of 2 elements, by up to 0.5"),
        (torch.tensor([NAN, 2.0]), torch.tensor([1.0, 2.0]), "x differs in 1 of 2 elements, by up to inf"),
        (torch.tensor([True]), torch.tensor([False]), "x differs in 1 of 1 elements"),
        (torch.tensor([1.0]), torch.tensor([1.0], dtype=torch.float64), "x is float64[1], float32[1] in eager"),
        (torch.tensor([1.0]), None, "x is None, float32[1] in eager"),
        (None, torch.zeros(2, 3), "x is float32[2, 3], None in eager"),
        (3, 4, "x is 4, 3 in eager"),
    ],
)
def test_differences_are_named(eager: object, generated: object, words: str) -> None:
    assert difference("x", eager, generated) == words


@pytest.mark.parametrize(
    "value", [torch.tensor([NAN, 1.0]), torch.tensor([NAN + 1j]), torch.arange(3), None, 3, NAN, "a"]
)
def test_the_same_is_the_same(value: object) -> None:
    other = value.clone() if isinstance(value, torch.Tensor) else value
    assert difference("x", value, other) is None


def test_a_leaf_is_named_by_its_path() -> None:
    ours, theirs = (
        {"loss": torch.ones(()), "logits": [torch.ones(2)]},
        {"loss": torch.ones(()), "logits": [torch.zeros(2)]},
    )
    found = tree_difference("output", ours, theirs)
    assert found == "output['logits'][0] differs in 2 of 2 elements, by up to 1"
    assert tree_difference("output", ours, {"loss": torch.ones(())}) == "output has another structure than eager's"
