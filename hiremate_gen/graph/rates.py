"""What devices can do, from their data sheets; the CPU's figures were measured on two AVX-512 cores.

A plan needs costs in the right proportion to each other more than costs in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from hiremate_gen.errors import UsageError


@dataclass(frozen=True, slots=True)
class Rates:
    """Per second: operations by precision and bytes of memory; `launch_s` is the fixed cost of one op.

    `element_s` is the time for each element of ops that compute more than they move, by kind; a kind that it lacks
    is bound by memory.
    """

    name: str
    single_flops: float
    half_flops: float
    double_flops: float
    bandwidth_bytes: float
    launch_s: float
    element_s: Mapping[str, float]
    share: Mapping[str, float] = field(default_factory=dict)  # of the peak that a kind of product reaches; 1 if absent


_FREE: Mapping[str, float] = MappingProxyType({})
_CPU_NS = {
    "exp": 0.31,
    "tanh": 1.0,
    "trigonometric": 0.52,
    "log": 0.39,
    "erf": 0.5,
    "power": 0.8,
    "gelu": 0.2,
    "gelu_backward": 0.25,
    "silu": 0.11,
    "silu_backward": 0.15,
    "softmax": 0.24,
    "softmax_backward": 0.19,
    "layer_norm": 0.2,
    "layer_norm_backward": 0.2,
    "batch_norm": 0.75,
    "batch_norm_backward": 0.26,
    "dropout": 2.6,
    "dropout_backward": 0.35,
    "random": 2.4,
    "variance": 0.5,
    "scan": 0.75,
    "sort": 22.0,
    "select": 0.9,
    "pool": 1.0,
    "index": 0.25,
    "scatter": 0.6,
    "interpolate": 0.8,
    "complex": 0.6,
    "fourier": 2.6,
    "transpose": 0.37,
}
_CPU_SHARE = MappingProxyType({"matmul": 0.5, "batched": 0.4, "attention": 0.28})
_CPU = Rates(
    name="cpu",
    single_flops=4.0e11,
    half_flops=4.0e11,
    double_flops=2.0e11,
    bandwidth_bytes=8.0e10,
    launch_s=4e-6,
    element_s=MappingProxyType({kind: round(ns * 1e-9, 15) for kind, ns in _CPU_NS.items()}),
    share=_CPU_SHARE,
)

# Tensor cores count where torch uses them by default: for half precision; float32 runs at its own rate.
DEVICES: Mapping[str, Rates] = MappingProxyType(
    {
        "cpu": _CPU,
        "t4": Rates("t4", 8.1e12, 6.5e13, 2.5e11, 3.2e11, 5e-6, _FREE),
        "v100": Rates("v100", 1.57e13, 1.25e14, 7.8e12, 9.0e11, 5e-6, _FREE),
        "rtx3090": Rates("rtx3090", 3.56e13, 7.1e13, 5.6e11, 9.36e11, 5e-6, _FREE),
        "rtx4090": Rates("rtx4090", 8.26e13, 1.65e14, 1.3e12, 1.008e12, 5e-6, _FREE),
        "a10": Rates("a10", 3.12e13, 1.25e14, 4.9e11, 6.0e11, 5e-6, _FREE),
        "a100": Rates("a100", 1.95e13, 3.12e14, 9.7e12, 2.039e12, 5e-6, _FREE),
        "h100": Rates("h100", 6.7e13, 9.89e14, 3.4e13, 3.35e12, 5e-6, _FREE),
        "h200": Rates("h200", 6.7e13, 9.89e14, 3.4e13, 4.8e12, 5e-6, _FREE),
        "l4": Rates("l4", 3.03e13, 1.21e14, 4.7e11, 3.0e11, 5e-6, _FREE),
    }
)


def rates_for(name: str) -> Rates:
    """The rates of a device: a name from the table, "cuda" or "cuda:0" for an A100.

    Raises UsageError with the names that exist.
    """
    kind = "a100" if name.split(":")[0] == "cuda" else name.split(":")[0].lower()
    if kind not in DEVICES:
        raise UsageError(f"no rates for device {name!r}", hint=f"known: {', '.join(sorted(DEVICES))}")
    return DEVICES[kind]
