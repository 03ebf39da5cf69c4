"""Time of an op from its operations and bytes over a device's rates: deterministic, so that plans are.

The roofline model of Williams, Waterman and Patterson (2009): an op takes as long as the slower of its arithmetic and
its memory traffic; to this we add a fixed launch cost, and on the CPU a cost for each element of ops such as `gelu`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop_count, sdpa_flop_count

from hiremate_gen.graph.call import Call, bind, nbytes, numel, storage_bytes
from hiremate_gen.graph.kinds import is_view
from hiremate_gen.graph.rates import Rates

# torch leaves these untyped
_forward_flops: Callable[..., int] = sdpa_flop_count
_backward_flops: Callable[..., int] = sdpa_backward_flop_count

_KINDS: dict[str, str] = {}
for _kind, _names in {
    "exp": "exp exp2 expm1 sigmoid logsumexp softplus softplus_backward elu elu_backward",
    "tanh": "tanh mish mish_backward asin acos atan sinh cosh",
    "trigonometric": "sin cos tan polar",
    "log": "log log2 log10 log1p logit binary_cross_entropy binary_cross_entropy_with_logits",
    "erf": "erf erfc erfinv",
    "gelu": "gelu",
    "gelu_backward": "gelu_backward",
    "silu": "silu",
    "silu_backward": "silu_backward",
    "softmax": "_softmax _log_softmax",
    "softmax_backward": "_softmax_backward_data _log_softmax_backward_data",
    "layer_norm": "native_layer_norm native_group_norm _fused_rms_norm",
    "layer_norm_backward": "native_layer_norm_backward native_group_norm_backward _fused_rms_norm_backward",
    "batch_norm": "native_batch_norm _native_batch_norm_legit_functional _native_batch_norm_legit",
    "batch_norm_backward": "native_batch_norm_backward",
    "dropout": "native_dropout bernoulli",
    "random": "rand randn rand_like randn_like randint normal uniform",
    "variance": "var std var_mean",
    "scan": "cumsum cumprod",
    "sort": "sort argsort",
    "select": "topk argmax argmin max min median",
    "pool": "max_pool2d_with_indices avg_pool2d _adaptive_avg_pool2d max_pool3d_with_indices",
    "index": "embedding index _unsafe_index index_select gather max_pool2d_with_indices_backward avg_pool2d_backward",
    "scatter": "embedding_dense_backward index_put _unsafe_index_put scatter scatter_add index_add",
    "interpolate": "upsample_bilinear2d upsample_nearest2d upsample_bicubic2d grid_sampler_2d",
    "fourier": "_fft_c2c _fft_r2c _fft_c2r",
}.items():
    _KINDS |= dict.fromkeys(_names.split(), _kind)

_READS_PART = ("embedding", "index", "_unsafe_index", "index_select", "gather")  # of their first input


def seconds(target: str, args: Sequence[Any], kwargs: Mapping[str, Any], outputs: object, rates: Rates) -> float:
    """Predicted seconds of one call on a device; arguments as in `workspace_bytes`.  A view costs nothing."""
    call = bind(target, args, kwargs, outputs)
    if is_view(call.op):
        return 0.0
    compute = flops(call, args, kwargs, outputs) / (_peak(call, rates) * rates.share.get(product(call), 1.0))
    memory = traffic_bytes(call) / rates.bandwidth_bytes
    return max(compute, memory, _elements(call) * rates.element_s.get(kind(call), 0.0)) + rates.launch_s


def unit_cost(target: str, args: Sequence[Any], kwargs: Mapping[str, Any], outputs: object) -> float:
    """1.0 for every op but views: the costs that tests and the literature use."""
    return 0.0 if is_view(bind(target, args, kwargs, outputs).op) else 1.0


def flops(call: Call, args: Sequence[Any], kwargs: Mapping[str, Any], outputs: object) -> int:
    """Operations of matrix products, convolutions and attention, by torch's own formulas; 0 for other ops."""
    if call.name == "_scaled_dot_product_flash_attention_for_cpu":
        return int(_forward_flops(*(call.tensor(n).shape for n in ("query", "key", "value"))))
    if call.name == "_scaled_dot_product_flash_attention_for_cpu_backward":
        names = ("grad_out", "query", "key", "value")
        return int(_backward_flops(*(call.tensor(n).shape for n in names)))
    formula = flop_registry.get(call.op.overloadpacket)
    return int(formula(*args, **kwargs, out_val=outputs)) if formula is not None else 0


def traffic_bytes(call: Call) -> int:
    """Bytes read and written once: expanded inputs count for what they store, gathered tables for what is taken."""
    written = sum(nbytes(t) for t in call.outputs if t is not None)
    read = [min(nbytes(t), storage_bytes(t)) for t in call.inputs]
    if call.name in _READS_PART and read:
        read[0] = min(read[0], written)
    return sum(read) + written


def kind(call: Call) -> str:
    """The kind of per-element work, as `Rates.element_s` names it."""
    if call.name == "native_dropout_backward":
        return "dropout_backward"
    if call.name == "pow":
        exponent = call.given.get("exponent")
        return "" if isinstance(exponent, (int, float)) and exponent in (1, 2, 3, 0.5, -1, -2) else "power"
    if call.name == "clone" and call.inputs[0].stride() != call.out.stride():
        return "transpose"
    if call.out.is_complex():
        return _KINDS.get(call.name, "complex")
    return _KINDS.get(call.name, "")


def product(call: Call) -> str:
    """The kind of product, as `Rates.share` names it."""
    if "attention" in call.name:
        return "attention"
    return {"mm": "matmul", "addmm": "matmul", "bmm": "batched", "baddbmm": "batched"}.get(call.name, "")


def _elements(call: Call) -> int:
    """Elements of the largest tensor, in or out: what is reduced counts as what is made."""
    tensors = [t for t in (*call.inputs, *call.outputs) if isinstance(t, Tensor)]
    if call.name == "embedding_dense_backward" or call.name in _READS_PART:
        tensors = [t for t in tensors if t is not call.out] if call.name == "embedding_dense_backward" else [call.out]
    return max((numel(t) for t in tensors), default=0)


def _peak(call: Call, rates: Rates) -> float:
    dtype = call.out.dtype if any(t is not None for t in call.outputs) else torch.float32
    if dtype in (torch.bfloat16, torch.float16):
        return rates.half_flops
    return rates.double_flops if dtype in (torch.float64, torch.complex128) else rates.single_flops
