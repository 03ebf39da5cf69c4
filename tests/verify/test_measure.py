"""Peak memory of a step against what is known to be live."""

from __future__ import annotations

import torch

from hiremate_gen.verify.measure import peak_bytes, static_bytes, step_memory


def test_peak_counts_what_lives_together() -> None:
    x = torch.rand(1000)

    def step() -> None:
        a = x + x  # 4000 bytes
        b = a * a  # 8000 live
        del a
        c = b * b  # 8000 again
        del b, c

    assert peak_bytes(step, [x]) == 4000 + 8000
    assert step_memory(step, [x]).kept_bytes == 0


def test_what_a_step_leaves_is_told() -> None:
    kept: list[torch.Tensor] = []
    x = torch.rand(250)
    assert step_memory(lambda: kept.append(x + x), [x]).kept_bytes == 1000


def test_views_and_ties_count_once() -> None:
    x = torch.rand(100)
    assert static_bytes([x, x[10:], x.view(10, 10)]) == 400
