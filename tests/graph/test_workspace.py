"""The workspace estimate against the allocator's events."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import golden_joint as joint
import op_cases as cases
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hiremate_gen.graph.call import nbytes, resolve, tensors
from hiremate_gen.graph.measure import OpCall, allocation
from hiremate_gen.graph.sample import real_arguments
from hiremate_gen.graph.signature import signature
from hiremate_gen.graph.workspace import SCALARS, THREADS, has_rule, output_bytes, workspace_bytes

AS_MEASURED = torch.backends.cpu.get_cpu_capability() == "AVX512"
"""Whether this is the kind of CPU that the rules were measured on; a narrower one makes smaller copies."""

NARROWER = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


def inside(op: Any, args: Any, kwargs: Any, threads: int) -> tuple[int, int]:
    """Bytes beyond the outputs at the op's own peak, and bytes of the outputs."""
    torch.set_num_threads(threads)
    with torch.no_grad():
        op(*args, **kwargs)
        seen = allocation(lambda: op(*args, **kwargs))
    return seen.peak_bytes - seen.kept_bytes, seen.kept_bytes


def check(call: OpCall, args: Any, kwargs: Any, *, tight: bool) -> None:
    op = resolve(call.target)
    name = signature(call.target, call.args, call.kwargs)
    estimate = workspace_bytes(*call)
    few, kept = inside(op, args, kwargs, 2)
    many = few
    if estimate != workspace_bytes(*call, threads=2):  # it has buffers for each thread
        many, _ = inside(op, args, kwargs, THREADS)
    assert kept == sum(output_bytes(*call)), f"{name}: outputs keep {kept}"
    assert estimate >= max(few, many), f"{name}: {few} and {many} bytes measured"
    size = kept + sum(nbytes(t) for t in tensors((*call.args, *call.kwargs.values())))
    if tight and AS_MEASURED:
        assert estimate <= many + 0.05 * size + 8192 + SCALARS, f"{name}: {many} measured, {estimate} estimated"


@pytest.mark.parametrize("model", joint.MODELS)
def test_golden_ops_are_bounded_tightly(model: str) -> None:
    distinct = {signature(c.target, c.args, c.kwargs): c for c in joint.calls(model)}
    makes = [c for c in distinct.values() if workspace_bytes(*c)]
    assert len(makes) > 10
    for call in makes:
        assert has_rule(*call), call.target
        args, kwargs = real_arguments(*call[:3], "cpu", torch.Generator().manual_seed(0))
        check(call, args, kwargs, tight=True)


def real_call(found: cases.Case) -> OpCall:
    outputs = resolve(found.target)(*found.args, **found.kwargs)
    return OpCall(found.target, found.args, found.kwargs, outputs)


@pytest.mark.parametrize("found", cases.exact(), ids=lambda c: c.name)
def test_estimate_is_a_tight_upper_bound(found: cases.Case) -> None:
    call = real_call(found)
    assert has_rule(*call)
    check(call, found.args, found.kwargs, tight=True)


@pytest.mark.parametrize("found", cases.bounded(), ids=lambda c: c.name)
def test_estimate_is_an_upper_bound(found: cases.Case) -> None:
    check(real_call(found), found.args, found.kwargs, tight=False)


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[Any, ...]:
    """Shapes as in vision models: image, weight, bias or not, stride, padding, groups."""
    depthwise = draw(st.booleans()) and draw(st.booleans())
    wide, tap = draw(st.sampled_from([14, 16, 28, 32])), draw(st.sampled_from([1, 3, 3, 5]))
    ic = draw(st.sampled_from([3, 16, 32, 48, 64, 128]))
    oc = ic if depthwise else draw(st.sampled_from([16, 32, 64, 96, 128]))
    groups = ic if depthwise and ic != 3 else 1
    x = torch.rand(draw(st.sampled_from([2, 4, 8, 16])), ic, wide, wide)
    if draw(st.booleans()) and draw(st.booleans()):
        x = x.contiguous(memory_format=torch.channels_last)
    w = torch.rand(oc, ic // groups, tap, tap)
    bias = torch.rand(oc) if draw(st.booleans()) else None
    stride = draw(st.sampled_from([1, 1, 2]))
    return x, w, bias, [stride] * 2, [tap // 2] * 2, [1, 1], False, [0, 0], groups


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(convolutions())
def test_convolutions_are_bounded(args: tuple[Any, ...]) -> None:
    x, w, bias, *rest = args
    y = torch.ops.aten.convolution.default(*args)
    check(OpCall("aten.convolution.default", args, {}, y), args, {}, tight=False)
    sizes = None if bias is None else [w.shape[0]]
    backward = (torch.rand_like(y), x, w, sizes, *rest, [x.shape[1] != 3, True, bias is not None])
    op = torch.ops.aten.convolution_backward.default
    check(OpCall("aten.convolution_backward.default", backward, {}, op(*backward)), backward, {}, tight=False)


def test_an_output_that_the_plan_does_not_count_is_workspace() -> None:
    x = torch.rand(64, 32)
    args: tuple[Any, ...] = (x, 0.5, True)
    outputs = torch.ops.aten.native_dropout.default(*args)
    target = "aten.native_dropout.default"
    both = workspace_bytes(target, args, {}, outputs, read=[True, True])
    assert workspace_bytes(target, args, {}, outputs, read=[True, False]) == both + 64 * 32


def test_a_reduced_loss_keeps_its_terms() -> None:
    x = torch.rand(1000)
    loss = torch.ops.aten.mse_loss.default(x, x)
    assert output_bytes("aten.mse_loss.default", (x, x), {}, loss) == (4000,)
    assert loss.untyped_storage().nbytes() == 4000
    terms = torch.ops.aten.mse_loss.default(x, x, 0)
    assert output_bytes("aten.mse_loss.default", (x, x, 0), {}, terms) == (4000,)


def test_an_image_keeps_the_storage_of_its_columns() -> None:
    args: tuple[Any, ...] = (torch.rand(4, 144, 64), [8, 8], [3, 3], [1, 1], [1, 1], [1, 1])
    image = torch.ops.aten.col2im.default(*args)
    fake = torch.empty(image.shape, device="meta")
    assert output_bytes("aten.col2im.default", args, {}, fake) == (image.untyped_storage().nbytes(),) == (147456,)


@pytest.mark.skipif(not AS_MEASURED, reason="the other tests of this file run on such a CPU already")
def test_estimates_are_upper_bounds_on_a_narrower_cpu() -> None:
    command = [sys.executable, "-m", "pytest", __file__, "-rs", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(command, env=os.environ | NARROWER, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "1 skipped" in done.stdout, done.stdout


def test_estimate_does_not_depend_on_the_machine_s_threads() -> None:
    call = next(c for c in joint.calls("resnet") if "convolution_backward" in c.target)
    seen = set()
    for threads in (1, 2, 8):
        torch.set_num_threads(threads)
        seen.add(workspace_bytes(*call))
    assert len(seen) == 1


def test_views_cost_nothing() -> None:
    views = [c for c in joint.calls("gpt") if c.target in ("aten.view.default", "aten._unsafe_view.default")]
    assert views and all(workspace_bytes(*c) == 0 for c in views)
