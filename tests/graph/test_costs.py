"""Predicted and measured costs: roofline, profiles, and which of them answers."""

from __future__ import annotations

from typing import Any

import golden_joint as joint
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hiremate_gen.errors import UsageError
from hiremate_gen.graph.costs import Costs
from hiremate_gen.graph.measure import OpCall, measure
from hiremate_gen.graph.profile import Measured, Profile, loads
from hiremate_gen.graph.rates import DEVICES, rates_for
from hiremate_gen.graph.roofline import seconds, unit_cost
from hiremate_gen.graph.sample import real_arguments
from hiremate_gen.graph.signature import signature

CPU = rates_for("cpu")


def call(target: str, *args: Any, **kwargs: Any) -> OpCall:
    _, name, overload = target.split(".")
    op = getattr(getattr(torch.ops.aten, name), overload)
    return OpCall(target, args, kwargs, op(*args, **kwargs))


X = torch.rand(512, 512)


def test_a_product_is_bound_by_its_operations() -> None:
    a100 = rates_for("a100")
    got = seconds(*call("aten.mm.default", X, X), a100)
    assert got == pytest.approx(2 * 512**3 / a100.single_flops + a100.launch_s)


def test_an_addition_is_bound_by_memory() -> None:
    got = seconds(*call("aten.add.Tensor", X, X), CPU)
    assert got == pytest.approx(3 * 4 * 512**2 / CPU.bandwidth_bytes + CPU.launch_s)


def test_half_precision_is_faster_on_a_gpu() -> None:
    half = X.to(torch.bfloat16)
    gpu = rates_for("h100")
    assert seconds(*call("aten.mm.default", half, half), gpu) < seconds(*call("aten.mm.default", X, X), gpu)


def test_an_expanded_input_is_read_once() -> None:
    row = torch.rand(1, 512).expand(512, 512)
    assert seconds(*call("aten.add.Tensor", X, row), CPU) < seconds(*call("aten.add.Tensor", X, X), CPU)


def test_gelu_costs_more_than_relu_on_the_cpu_only() -> None:
    gelu, relu = call("aten.gelu.default", X), call("aten.relu.default", X)
    assert seconds(*gelu, CPU) > seconds(*relu, CPU)
    assert seconds(*gelu, rates_for("a100")) == seconds(*relu, rates_for("a100"))


def test_the_order_of_costs_is_that_of_the_machine() -> None:
    x = torch.rand(256, 1024)
    ranked = [call("aten.relu.default", x), call("aten._softmax.default", x, -1, False)]
    ranked += [call("aten.native_dropout.default", x, 0.1, True), call("aten.mm.default", x, x.t().contiguous())]
    times = [seconds(*c, CPU) for c in ranked]
    assert times[0] < times[1] < min(times[2:])
    torch.set_num_threads(1)
    measured = measure(ranked, rounds=7)
    got = [measured.ops[signature(c.target, c.args, c.kwargs)].time_s for c in ranked]
    assert got[0] < got[2] and got[0] < got[3]


@pytest.mark.parametrize("model", ["gpt", "unet"])
@pytest.mark.parametrize("device", ["cpu", "h200"])
def test_every_op_of_a_model_has_a_cost(model: str, device: str) -> None:
    costs = Costs(rates_for(device))
    for c in joint.calls(model):
        found = costs.of(c)
        assert (found.time_s == 0) == (unit_cost(*c) == 0)
        assert 0 <= found.time_s < 1 and found.workspace_bytes >= 0
    assert not costs.unruled


def test_devices() -> None:
    assert rates_for("cuda:1") == DEVICES["a100"]
    with pytest.raises(UsageError, match="abacus"):
        rates_for("abacus")


def test_signature_tells_layout_and_literals_apart() -> None:
    texts = {signature("aten.mm.default", a, k) for a, k in [((X, X), {}), ((X.t(), X), {}), ((X, X.double()), {})]}
    texts |= {signature("aten.sum.dim_IntList", (X, d), {}) for d in ([0], [1])}
    assert len(texts) == 5
    assert signature("aten.f.default", (X[:2, :3],), {"d": 1}) == "aten.f.default(float32[2,3]{512,1}, d=1)"


def test_a_profile_measures_workspace_and_time() -> None:
    x = torch.rand(1024, 256)
    calls = [call("aten.native_dropout.default", x, 0.1, True), call("aten.add.Tensor", x, x)]
    state = torch.get_rng_state()
    profile = measure([*calls, *calls], rounds=3)
    assert torch.equal(state, torch.get_rng_state())
    dropout, add = (profile.key(signature(c.target, c.args, c.kwargs)) for c in calls)
    assert dropout is not None and add is not None and len(profile.ops) == 2
    assert 4 * 1024 * 256 <= dropout.workspace_bytes < 4 * 1024 * 256 + 100
    assert add.workspace_bytes == 0 and add.time_s > 0
    assert loads(profile.dumps()).dumps() == profile.dumps()


def test_costs_come_from_the_profile_where_it_has_them() -> None:
    known, other = call("aten.add.Tensor", X, X), call("aten.mul.Tensor", X, X)
    name = signature(known.target, known.args, known.kwargs)
    costs = Costs(CPU, Profile("cpu", "2.13", 2, {name: Measured(0.5, 77)}))
    assert costs.of(known) == Measured(0.5, 77)
    assert costs.of(other) == Costs(CPU).of(other)
    assert costs.unprofiled == {signature(other.target, other.args, other.kwargs)}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1, "ops": {"a": [1]}}', '{"format": 2, "ops": {}}'])
def test_what_is_no_profile_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="profile"):
        loads(text, where="profile.json")


MEASURED = st.builds(Measured, st.floats(0, 10).map(lambda t: float(f"{t:.4g}")), st.integers(0, 2**50))


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.text(), MEASURED), st.randoms())
def test_a_profile_reads_back_and_does_not_depend_on_order(ops: dict[str, Measured], order: Any) -> None:
    shuffled = list(ops.items())
    order.shuffle(shuffled)
    profile = Profile("cpu", "2.13.0", 2, ops)
    assert loads(profile.dumps()) == profile
    assert Profile("cpu", "2.13.0", 2, dict(shuffled)).dumps() == profile.dumps()


def test_sampled_arguments_have_the_layout_of_the_fake_ones() -> None:
    for c in joint.calls("gpt"):
        args, _ = real_arguments(*c[:3], "cpu", torch.Generator())
        for fake, real in zip(c.args, args, strict=True):
            if isinstance(fake, torch.Tensor):
                assert (real.shape, real.stride(), real.dtype) == (fake.shape, fake.stride(), fake.dtype)
