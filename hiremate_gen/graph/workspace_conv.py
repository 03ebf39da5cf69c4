"""Workspace of convolutions on the CPU.

float32 and bfloat16 run in oneDNN, which copies image, weight and result into blocks of 16 channels and back; other
dtypes, and one small image, run in ATen's own kernel, which unfolds the image into columns.  Measured on AVX-512; the
names are: x image, w weight, y result, g… gradient, a trailing b the blocked copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import torch
from torch import Tensor

from hiremate_gen.graph.call import Call, channels_last, nbytes, numel

BLOCK = 16  # channels
SMALL_IMAGE = (
    20480  # elements of a batch of one, the last of three dimensions not counted, below which ATen's own kernel runs
)
SLACK = 40960  # barriers and tails of per-thread buffers


@dataclass(frozen=True, slots=True)
class Conv:
    """One convolution or its backward; bytes of the plain and the blocked tensors."""

    x: Tensor
    w: Tensor
    y: Tensor
    transposed: bool
    groups: int
    stride: int  # product over the dimensions
    threads: int

    @property
    def strided(self) -> bool:
        return self.stride != 1

    @property
    def first(self) -> bool:
        """An image of at most three channels is read as it lies, unless the kernel is one point."""
        return self.kernel > 1 and self.groups == 1 and not self.transposed and self.x.shape[1] <= 3

    @property
    def depthwise(self) -> bool:
        return self.groups > 1 and self.groups == self.x.shape[1]

    @property
    def single(self) -> bool:
        """A depthwise convolution that oneDNN has no kernel of its own for: it is one of many groups there."""
        images = zip(self.x.shape[2:], self.w.shape[2:], strict=True)
        small = self.kernel <= 9 and all(n >= tap for n, tap in images)
        return self.depthwise and not (small and self.w.shape[0] == self.groups)

    @property
    def kernel(self) -> int:
        return prod(int(k) for k in self.w.shape[2:])

    @property
    def blocked(self) -> bool:
        """oneDNN takes it."""
        if self.w.dtype not in (torch.float32, torch.bfloat16):
            return False
        big_kernel = all(k > 3 for k in self.w.shape[-2:])
        return (
            self.groups > 1 or big_kernel or self.x.shape[0] > 1 or prod(int(n) for n in self.x.shape[:4]) > SMALL_IMAGE
        )

    @property
    def channels_last(self) -> bool:
        return channels_last(self.x) or channels_last(self.w)

    @property
    def xb(self) -> int:
        return padded(self.x)

    @property
    def yb(self) -> int:
        return padded(self.y)

    @property
    def wb(self) -> int:
        if self.groups > 1:
            return nbytes(self.w) * (BLOCK if not self.depthwise and self.w.shape[1] < BLOCK else 1)
        a, b = (_up(int(n)) for n in self.w.shape[:2])
        b = int(self.w.shape[1]) if self.first else b
        return a * b * self.kernel * self.w.element_size()

    @property
    def columns(self) -> int:
        """The unfolded image, of the whole batch."""
        if self.kernel == 1 and not self.strided and not self.transposed:
            return 0
        image, channels = (self.x, self.y.shape[1]) if self.transposed else (self.y, self.x.shape[1])
        places = numel(image) // max(1, int(image.shape[1]))
        whole = places * int(channels) * self.kernel * self.x.element_size()
        if self.groups == 1 or self.x.ndim == 5:
            return whole
        return whole // self.groups + nbytes(self.x) + 2 * nbytes(self.y)  # group by group, then joined

    @property
    def gathered(self) -> int:
        """The image of a strided convolution with a kernel of one point, gathered for each thread."""
        if self.kernel != 1 or not self.strided:
            return 0
        return self.threads * nbytes(self.x) // (self.stride * max(1, int(self.x.shape[0])))

    @property
    def reduction(self) -> int:
        """Partial weight gradients of the threads."""
        if self.depthwise:
            return self.threads * _up(int(self.w.shape[0])) * self.kernel * self.w.element_size() + SLACK
        if self.kernel == 1:
            blocks = self.wb // (BLOCK * BLOCK * self.w.element_size())
            factor = 2.2 if blocks == 1 else 1.25 if blocks <= 4 else 0.95
            scratch = int(self.threads * self.wb * factor) + self.gathered
        elif self.first and self.w.shape[-1] > 14:  # beyond the registers: each thread has weights and one image
            one = (nbytes(self.x) + nbytes(self.y)) // max(1, int(self.x.shape[0]))
            scratch = self.threads * (4 * self.wb + one)
        else:
            scratch = (image_threads(self) - 1) * self.wb
        return scratch * 2 + self.xb + self.yb if self.w.dtype == torch.bfloat16 else scratch + SLACK


def convolution(call: Call, threads: int) -> int:
    """Bytes inside `aten.convolution`."""
    conv = _conv(call, call.tensor("input"), call.out, threads)
    extra = _relaid(conv, conv.x) + _relaid(conv, conv.w)
    if not conv.blocked:
        if not conv.transposed or conv.x.ndim < 5:
            return extra + conv.columns
        # Image by image, and a bias is added as a product with ones.
        ones = 0 if call.given["bias"] is None else prod(int(n) for n in conv.y.shape[2:]) * conv.y.element_size()
        return extra + conv.columns // max(1, int(conv.x.shape[0])) + ones
    if conv.channels_last:
        turned = conv.yb + 2 * _gather(conv, conv.y, conv.x) if conv.transposed else 0
        joined = conv.yb if conv.single and conv.w.shape[0] > conv.groups else 0
        return extra + 2 * conv.wb + turned + joined + threads * 4224 + SLACK
    image = conv.xb if conv.x.shape[1] >= BLOCK or conv.groups > 1 or conv.transposed or conv.kernel == 1 else 0
    y = nbytes(conv.y)
    scratch = conv.gathered + _bias(conv)
    if conv.transposed:
        scratch += max(
            conv.yb if call.given["bias"] is not None else 0, _gather(conv, conv.y, conv.x) if conv.strided else 0
        )
    compute = image + conv.wb + conv.yb + scratch
    back = conv.yb + y * (2 if _turned_twice(conv) else 1)
    return extra + max(compute, back) - y


def convolution_backward(call: Call, threads: int) -> int:
    """Bytes inside `aten.convolution_backward`; outputs that the mask switches off are not made."""
    mask = call.given["output_mask"]
    conv = _conv(call, call.tensor("input"), call.tensor("grad_output"), threads)
    extra = _relaid(conv, conv.x) + _relaid(conv, conv.y) + _relaid(conv, conv.w)
    if not conv.blocked:
        return extra + (conv.columns // max(1, int(conv.x.shape[0])) if conv.transposed else conv.columns)
    gather = _gather(conv, conv.x, conv.y) if conv.strided and not conv.transposed and not conv.depthwise else 0
    if conv.channels_last:
        return extra + 3 * conv.wb + max(_of_groups(conv) if conv.single else conv.reduction, gather)
    gx, gw = (nbytes(conv.x) if mask[0] else 0), (nbytes(conv.w) if mask[1] else 0)
    of_image = _of_image(conv, gx, gather) if mask[0] else 0
    narrow = conv.x.shape[1] <= 8 and conv.kernel > 1 and not conv.transposed
    image = padded(conv.x, 0 if conv.first else 8 if narrow else BLOCK)
    if conv.single:
        of_weight = gx + gw + _of_groups(conv)
    else:
        of_weight = gx + max(conv.yb + image + conv.wb + conv.reduction, conv.wb + gw) + _bias(conv)
    return extra + max(of_image, of_weight if mask[1] else 0) - gx - gw


def _of_image(conv: Conv, gx: int, gather: int) -> int:
    """Peak while the gradient of the image is made; strided convolutions keep plain channels and turn it twice."""
    blocks = replace(conv, transposed=True).wb  # padded channels even in a first convolution
    if gather:
        return max(nbytes(conv.y) + blocks + gx + gather, 3 * gx)
    return max(conv.yb + blocks + conv.xb + 256, conv.xb + gx)


def _of_groups(conv: Conv) -> int:
    """The gradient of the weight, group by group: unfolded for each thread, or dense blocks where channels lie last."""
    many = int(conv.w.shape[0]) // conv.groups
    if conv.channels_last:
        blocks = 256 // many * nbytes(conv.w) + _bias(conv)
        return 6 * blocks + nbytes(conv.x) + nbytes(conv.y) if conv.w.dtype == torch.bfloat16 else blocks
    places = numel(conv.y) // max(1, int(conv.y.shape[0]) * int(conv.y.shape[1]))
    columns = conv.kernel * (places + 4 * int(conv.w.shape[0])) * conv.w.element_size()
    return conv.threads * columns + _bias(conv)


def image_threads(conv: Conv) -> int:
    """Over how many groups of threads oneDNN splits the batch in the gradient of the weight.

    This is its `balance` for AVX-512: the least memory traffic, then less computation where that costs little traffic;
    all of 120 measured shapes agree when weights count 8 times.
    """
    source, target = (conv.y, conv.x) if conv.transposed else (conv.x, conv.y)
    if conv.first and conv.x.shape[1] == 1:
        return min(int(conv.x.shape[0]), conv.threads)
    batch, threads = int(target.shape[0]) * (int(target.shape[2]) if target.ndim == 5 else 1), conv.threads
    outputs, inputs = (-(-int(n) // BLOCK) for n in conv.w.shape[:2])
    image = (
        numel(source)
        // max(1, batch * int(source.shape[1]))
        // conv.stride
        * (int(source.shape[1]) if conv.first else BLOCK)
    )
    result = numel(target) // max(1, batch * int(target.shape[1])) * BLOCK

    if batch < threads:  # a small batch is split along the rows of its images too
        batch, image, result = 2 * batch, image // 2, result // 2

    def traffic(m: int, o: int, i: int) -> int:
        a, b, c = -(-batch // m), -(-outputs // o), -(-inputs // i)
        return a * c * image + a * b * result + 8 * b * c * conv.kernel * BLOCK * BLOCK

    def work(m: int, o: int, i: int) -> int:
        return -(-batch // m) * -(-outputs // o) * -(-inputs // i)

    splits = [
        (m, o, min(threads // m // o, inputs))
        for m in range(1, min(threads, batch) + 1)
        for o in range(1, min(threads // m, outputs) + 1)
    ]
    best = min(reversed(splits), key=lambda s: traffic(*s))
    least, effort = traffic(*best), work(*best)
    for split in splits:
        cheap = work(*split) <= effort and 10 * traffic(*split) < 11 * least
        if cheap or 4 * work(*split) <= 3 * effort:
            best, least, effort = split, traffic(*split), work(*split)
    return min(batch, threads) if threads // 2 < best[0] < threads else best[0]


def padded(t: Tensor, block: int = BLOCK) -> int:
    """Bytes with the channels (dimension 1) rounded up to a block; none when `block` is 0."""
    return nbytes(t) // max(1, int(t.shape[1])) * _up(int(t.shape[1]), block) if block else 0


def _gather(conv: Conv, fine: Tensor, coarse: Tensor) -> int:
    """Per-thread rows of the finer image, onto which a strided convolution spreads the coarser one."""
    tap, channels = int(conv.w.shape[-1]), min(64, _up(int(fine.shape[1])))
    rows = prod(int(n) + 2 * tap for n in coarse.shape[2:-1]) * (2 if channels <= 2 * BLOCK else 1)
    if fine.ndim == 3:
        rows = 2 * tap
    return conv.threads * max(31000 if conv.transposed else 10400, channels * int(fine.shape[-1]) * rows) * 4 + SLACK


def _turned_twice(conv: Conv) -> bool:
    """Whether the result is copied twice on its way out of blocks."""
    return (conv.strided and conv.transposed) or (conv.y.ndim == 5 and (conv.strided or conv.depthwise))


def _bias(conv: Conv) -> int:
    """The blocked bias, or its gradient."""
    return 2 * _up(max(int(n) for n in conv.w.shape[:2])) * 4 + 2048


def _relaid(conv: Conv, t: Tensor) -> int:
    """A tensor that lies otherwise than the kernel wants is copied first."""
    wanted = channels_last(t) if conv.blocked and conv.channels_last else t.is_contiguous()
    return 0 if wanted else nbytes(t)


def _conv(call: Call, x: Tensor, y: Tensor, threads: int) -> Conv:
    stride = prod(int(s) for s in call.given["stride"])
    transposed, groups = bool(call.given["transposed"]), int(call.given["groups"])
    return Conv(x, call.tensor("weight"), y, transposed, groups, stride, threads)


def _up(channels: int, block: int = BLOCK) -> int:
    return -(-channels // block) * block
