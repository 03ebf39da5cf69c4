"""Workspace of Fourier transforms on the CPU, after `_exec_fft` of torch's mkl/SpectralOps.cpp."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hiremate_gen.graph.call import Call, nbytes
from hiremate_gen.graph.workspace_kinds import lazy


def fourier(call: Call, threads: int) -> int:
    """The dimensions that are not transformed become one, by a copy where they do not lie in one stretch of memory.

    A real result of several dimensions is transformed back in the last alone; the others are done before, into a
    tensor of their own.
    """
    x, dims = call.tensor("self"), [int(d) % call.tensor("self").ndim for d in call.given["dim"]]
    sizes, strides = [int(n) for n in x.shape], [int(n) for n in x.stride()]
    if call.name != "_fft_c2r" or len(dims) == 1:
        return lazy(call) + (nbytes(x) if _apart(sizes, strides, dims) else 0)
    between = _transformed_strides(sizes, strides, dims[:-1])
    first = nbytes(x) - nbytes(call.out) if _apart(sizes, strides, dims[:-1]) else 0  # the result is not there yet
    second = nbytes(x) if _apart(sizes, between, dims[-1:]) else 0
    return lazy(call) + nbytes(x) + max(first, second)


def _apart(sizes: Sequence[int], strides: Sequence[int], transformed: Sequence[int]) -> bool:
    """Whether the other dimensions, outermost in memory first, cannot be seen as one."""
    rest = [d for d in _by_stride(strides) if d not in transformed and sizes[d] != 1]
    return any(strides[d] != sizes[e] * strides[e] for d, e in pairwise(rest))


def _transformed_strides(sizes: Sequence[int], strides: Sequence[int], transformed: Sequence[int]) -> list[int]:
    """Of a transform's result: what was transformed lies innermost, and each part as it lay before."""
    found, step = [0] * len(sizes), 1
    order = _by_stride(strides)
    for d in reversed([d for d in order if d not in transformed] + [d for d in order if d in transformed]):
        found[d], step = step, step * sizes[d]
    return found


def _by_stride(strides: Sequence[int]) -> list[int]:
    return sorted(range(len(strides)), key=lambda d: -strides[d])
