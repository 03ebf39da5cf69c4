"""Single ATen calls on real tensors: what the workspace rules and the roofline are tested on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Case:
    """One call, named for the test's id."""

    name: str
    target: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def floats(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return (torch.rand(*shape) + 0.5).to(dtype)


def case(target: str, *args: Any, **kwargs: Any) -> Case:
    shapes = "-".join("x".join(map(str, a.shape)) for a in args if isinstance(a, Tensor))
    dtype = next((str(a.dtype)[6:] for a in args if isinstance(a, Tensor)), "")
    return Case(f"{target}-{dtype}-{shapes}", f"aten.{target}", args, kwargs)


def pointwise(dtype: torch.dtype) -> Iterator[Case]:
    y = floats(8, 64, 128, dtype=dtype)
    row, mask, index = floats(128, dtype=dtype), floats(8, 64, 128) > 1, torch.zeros(8, 64, dtype=torch.long)
    for name in ("gelu", "silu", "relu", "tanh", "sigmoid", "exp", "rsqrt", "neg", "cos", "mish", "softplus"):
        yield case(f"{name}.default", y)
    for name in ("gelu_backward", "silu_backward", "tanh_backward", "sigmoid_backward", "mish_backward"):
        yield case(f"{name}.default", y, y)
    yield case("threshold_backward.default", y, y, 0)
    yield case("add.Tensor", y, y)
    yield case("add.Tensor", y, 1.5)
    yield case("add.Tensor", y, row)
    yield case("mul.Tensor", y, mask)
    yield case("mul.Tensor", y, floats(128, dtype=torch.float64))
    yield case("sub.Tensor", y, index[:, :, None])
    yield case("div.Tensor", y, y.transpose(0, 1).contiguous().transpose(0, 1))
    yield case("where.self", mask, y, row)
    yield case("masked_fill.Scalar", y, mask, float("-inf"))
    yield case("pow.Tensor_Scalar", y, 2)
    yield case("clamp.default", y, 0, 1)
    yield case("eq.Scalar", y, 0)
    yield case("native_dropout.default", y, 0.1, True)
    yield case("native_dropout_backward.default", y, mask, 1.1)


def rows(dtype: torch.dtype) -> Iterator[Case]:
    y, row = floats(8, 64, 128, dtype=dtype), floats(128, dtype=dtype)
    mean = floats(8, 64, 1, dtype=dtype)
    for dim in (-1, 1):
        yield case("_softmax.default", y, dim, False)
        yield case("_softmax_backward_data.default", y, y, dim, dtype)
        yield case("_log_softmax.default", y, dim, False)
        yield case("_log_softmax_backward_data.default", y, y, dim, dtype)
    yield case("native_layer_norm.default", y, [128], row, row, 1e-5)
    yield case("native_layer_norm_backward.default", y, y, [128], mean, mean, row, row, [True] * 3)
    yield case("_fused_rms_norm.default", y, [128], row, 1e-5)
    yield case("sum.dim_IntList", y, [0, 1], True)
    yield case("sum.dim_IntList", y.transpose(0, 2), [-1])
    yield case("sum.dim_IntList", floats(8, 64, 128) > 1, [-1])
    yield case("mean.dim", y, [-1], True)
    yield case("mean.default", y)
    yield case("var.correction", y, [-1])
    yield case("logsumexp.default", y, [-1])
    yield case("cumsum.default", y, -1)
    yield case("cumsum.default", y > 1, -1)
    yield case("roll.default", y, [1, 2], [0, 1])
    yield case("roll.default", y, [1, 2, 3], [0, 1, 2])
    yield case("_log_softmax.default", y[0].t(), 1, False)
    yield case("_euclidean_dist.default", y[0], y[1])
    yield case("amax.default", y, [-1])
    yield case("topk.default", y, 5)
    yield case("sort.default", y)
    yield case("mse_loss.default", y, y)
    yield case("mse_loss_backward.default", y[0, 0, 0], y, y, 1)
    yield case("binary_cross_entropy_with_logits.default", y, y)


def moves(dtype: torch.dtype) -> Iterator[Case]:
    y, index = floats(8, 64, 128, dtype=dtype), torch.zeros(8, 64, dtype=torch.long)
    yield case("cat.default", [y, y], -1)
    yield case("stack.default", [y, y])
    yield case("clone.default", y.transpose(0, 1), memory_format=torch.contiguous_format)
    yield case("_to_copy.default", y, dtype=torch.float32)
    yield case("slice_backward.default", y, [8, 64, 256], 2, 0, 128, 1)
    yield case("select_backward.default", y, [2, 8, 64, 128], 0, 1)
    yield case("slice_scatter.default", y, y[:, :, :32], 2, 0, 32)
    yield case("slice_scatter.default", y.transpose(0, 1), y[:, :, :32].transpose(0, 1), 2, 0, 32)
    yield case("select_scatter.default", y, y[:, 0], 1, 3)
    yield case("new_empty.default", y, [8, 64])
    yield case("new_empty_strided.default", y, [8, 64], [1, 8])
    yield case("linspace.default", 0, 1, 4096, dtype=torch.float32)
    yield case("pixel_unshuffle.default", y[:, None], 2)
    yield case("dot.default", y[0, 0], y[0, 1])
    yield case("_safe_softmax.default", y, -1)
    yield case("_safe_softmax.default", y, 1)
    yield case("_prelu_kernel.default", y, y[0, 0])
    yield case("_prelu_kernel_backward.default", y, y, y[0, 0])
    yield case("constant_pad_nd.default", y, [1, 1])
    yield case("embedding.default", floats(512, 128, dtype=dtype), index)
    yield case("embedding_dense_backward.default", y, index, 512, -1, False)
    yield case("index.Tensor", y, [None, index[0]])
    yield case("index_put.default", y, [index[0] % 8], floats(64, 64, 128, dtype=dtype), True)
    yield case("gather.default", y, 1, index[:, :, None].expand(8, 64, 128))
    yield case("scatter_add.default", y, 1, index[:, :, None].expand(8, 64, 128), y)
    yield case("nll_loss_forward.default", y[0], index[0], None, 1, -100)
    yield case("bernoulli.p", y, 0.5)
    yield case("rand_like.default", y)


def products(dtype: torch.dtype) -> Iterator[Case]:
    y = floats(8, 128, 128, dtype=dtype)
    yield case("mm.default", y[0], y[1])
    yield case("mm.default", y[0].t(), y[1])
    yield case("mm.default", y[0][:, ::2], y[0][:64])
    yield case("mm.default", y[0, :1].expand(128, 128), y[0])
    yield case("addmm.default", y[0, 0], y[0], y[1].t())
    yield case("bmm.default", y, y.transpose(1, 2))
    yield case("bmm.default", y[:, :, ::2], y[:, :64])
    yield case("bmm.default", floats(128, 8, 128, dtype=dtype).transpose(0, 1), y)
    yield case("bmm.default", y[:1].expand(8, 128, 128), y)
    yield case("baddbmm.default", y, y, y)


def images(channels_last: bool) -> Iterator[Case]:
    x = floats(8, 32, 32, 32)
    x = x.contiguous(memory_format=torch.channels_last) if channels_last else x
    c = floats(32)
    yield case("native_batch_norm.default", x, c, c, c.clone(), c.clone(), True, 0.1, 1e-5)
    yield case("native_batch_norm_backward.default", x, x, c, c, c, c, c, True, 1e-5, [True] * 3)
    yield case("native_group_norm.default", x, c, c, 8, 32, 1024, 4, 1e-5)
    group = floats(8, 4)
    yield case("native_group_norm_backward.default", x, x, group, group, c, 8, 32, 1024, 4, [True] * 3)
    yield case("max_pool2d_with_indices.default", x, [2, 2], [2, 2])
    yield case("avg_pool2d.default", x, [2, 2], [2, 2])
    yield case("_adaptive_avg_pool2d.default", x, [4, 4])
    half, where = floats(8, 32, 16, 16), torch.zeros(8, 32, 16, 16, dtype=torch.long)
    yield case("avg_pool2d_backward.default", half, x, [2, 2], [2, 2], [0, 0], False, True, None)
    pool = ([2, 2], [2, 2], [0, 0], [1, 1], False)
    yield case("max_pool2d_with_indices_backward.default", half, x, *pool, where)
    yield case("upsample_bilinear2d.default", x, [96, 96], False)
    wide = torch.rand(8, 32, 64, 64)
    wide = wide.contiguous(memory_format=torch.channels_last) if channels_last else wide
    for name, extra in (("nearest2d", ()), ("bilinear2d", (True,)), ("bicubic2d", (True,))):
        yield case(f"upsample_{name}.default", x, [64, 64], *extra)
        yield case(f"upsample_{name}_backward.default", wide, [64, 64], [8, 32, 32, 32], *extra)


def attention(dtype: torch.dtype) -> Iterator[Case]:
    for heads_inside in (True, False):
        shape = (2, 256, 4, 64) if heads_inside else (2, 4, 256, 64)
        q = floats(*shape, dtype=dtype)
        q = q.transpose(1, 2) if heads_inside else q
        yield case("_scaled_dot_product_flash_attention_for_cpu.default", q, q, q, 0.0, True)
        out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(q, q, q, 0.0, True)
        grad = torch.rand_like(out)
        args = (grad, q, q, q, out, lse, 0.0, True)
        yield case("_scaled_dot_product_flash_attention_for_cpu_backward.default", *args)


def complexes() -> Iterator[Case]:
    z, x = torch.complex(floats(8, 64, 64), floats(8, 64, 64)), floats(8, 64, 64)
    yield case("mul.Tensor", z, z)
    yield case("mul.Tensor", z, z.conj())
    yield case("mul.Tensor", z, x)
    yield case("bmm.default", z, z.conj())
    yield case("clone.default", z.conj())
    yield case("polar.default", x, x)


def spectra() -> Iterator[Case]:
    """Transforms of what lies in several orders, over some of the dimensions and over all."""
    x = floats(8, 32, 48)
    for dims in ([1], [2], [0], [1, 2], [2, 1], [0, 2], [0, 1, 2]):
        last = dims[-1]
        for order in ((0, 1, 2), (0, 2, 1), (2, 0, 1)):
            y = x.permute(order).contiguous().permute([order.index(d) for d in range(3)])
            z = torch.complex(y, y)
            yield case("_fft_r2c.default", y, dims, 0, True)
            yield case("_fft_r2c.default", y, dims, 0, False)
            yield case("_fft_c2c.default", z, dims, 0, True)
            yield case("_fft_c2c.default", z.conj(), dims, 0, False)
            half = z.narrow(last, 0, z.shape[last] // 2 + 1).clone()
            yield case("_fft_c2r.default", half, dims, 2, x.shape[last])


def volumes() -> Iterator[Case]:
    v, half = floats(8, 16, 16, 16, 16), floats(8, 16, 8, 8, 8)
    where = torch.zeros(8, 16, 8, 8, 8, dtype=torch.long)
    yield case("avg_pool3d.default", v, [2, 2, 2], [2, 2, 2])
    yield case("avg_pool3d_backward.default", half, v, [2] * 3, [2] * 3, [0] * 3, False, True, None)
    yield case("max_pool3d_with_indices.default", v, [2] * 3, [2] * 3)
    yield case("max_pool3d_with_indices_backward.default", half, v, [2] * 3, [2] * 3, [0] * 3, [1] * 3, False, where)
    yield case("_adaptive_avg_pool3d.default", v, [4] * 3)
    yield case("_adaptive_avg_pool3d_backward.default", floats(8, 16, 4, 4, 4), v)
    yield case("upsample_trilinear3d.default", v, [32] * 3, False)
    yield case("upsample_trilinear3d_backward.default", floats(8, 16, 32, 32, 32), [32] * 3, [8, 16, 16, 16, 16], False)
    yield case("upsample_nearest3d_backward.default", floats(8, 16, 32, 32, 32), [32] * 3, [8, 16, 16, 16, 16])
    yield case("replication_pad3d.default", v, [1] * 6)
    yield case("reflection_pad3d.default", v, [1] * 6)
    yield case("grid_sampler_3d.default", v, floats(8, 16, 16, 16, 3), 0, 0, False)


def seldom() -> Iterator[Case]:
    y, x = floats(8, 64, 128), floats(16, 16, 16, 16)
    first = torch.zeros(8, 64, 128, dtype=torch.long)
    yield case("adaptive_max_pool2d.default", x, [4, 4])
    small, where = floats(16, 16, 4, 4), torch.zeros(16, 16, 4, 4, dtype=torch.long)
    yield case("adaptive_max_pool2d_backward.default", small, x, where)
    yield case("replication_pad2d.default", x, [1] * 4)
    yield case("replication_pad2d_backward.default", floats(16, 16, 18, 18), x, [1] * 4)
    yield case("reflection_pad1d.default", y, [1, 1])
    yield case("reflection_pad1d_backward.default", floats(8, 64, 130), y, [1, 1])
    yield case("grid_sampler_2d_backward.default", x, x, floats(16, 16, 16, 2), 0, 0, False, [True, True])
    yield case("native_channel_shuffle.default", x, 4)
    yield case("col2im.default", floats(8, 144, 256), [16, 16], [3, 3], [1, 1], [1, 1], [1, 1])
    yield case("huber_loss.default", y, y, 1, 1.0)
    yield case("huber_loss_backward.default", y[0, 0, 0], y, y, 1, 1.0)
    yield case("mv.default", y[0], y[0, 0])
    yield case("mv.default", y[0].t(), y[0, :, 0])
    yield case("mv.default", floats(1024, 1024)[:, ::2], floats(512))
    yield case("addmv.default", y[0, :, 0].contiguous(), y[0], y[0, 0])
    yield case("addr.default", y[0], y[0, :, 0].contiguous(), y[0, 0])
    yield case("_cdist_forward.default", floats(8, 256, 32), floats(8, 256, 32), 2.0, None)
    yield case("_cdist_forward.default", floats(8, 16, 32), floats(8, 16, 32), 1.0, None)
    yield case("as_strided_scatter.default", y, y[0], [64, 128], [128, 1], 0)
    yield case("fill.Scalar", y, 1.0)
    yield case("zero.default", y)
    yield case("masked_scatter.default", y, y > 1, y)
    yield case("index_copy.default", y, 1, torch.arange(3), y[:, :3].contiguous())
    yield case("scatter_reduce.two", y, 1, first, y, "sum")
    yield case("diag_embed.default", y[0])
    yield case("glu.default", y, -1)
    yield case("glu_backward.default", floats(8, 64, 64), y, -1)
    yield case("log_sigmoid_forward.default", y)
    yield case("cummax.default", y, -1)
    yield case("std_mean.correction", y, [-1])
    yield case("linalg_cross.default", floats(512, 3), floats(512, 3))
    yield case("_weight_norm_interface.default", y, floats(8, 1, 1), 0)
    yield case("_weight_norm_interface_backward.default", y, y, floats(8, 1, 1), floats(8, 1, 1), 0)


def bags() -> Iterator[Case]:
    """Sums, means and maxima of rows of a table."""
    table, ids, starts = floats(1000, 16), torch.randint(0, 1000, (20480,)), torch.arange(0, 20480, 5)
    for mode in (0, 1, 2):
        yield case("_embedding_bag.default", table, ids, starts, False, mode)
        _, of, size, most = torch.ops.aten._embedding_bag.default(table, ids, starts, False, mode)
        if of.numel() == 0:  # what a sum does not write
            of = torch.arange(4096).repeat_interleave(5)
        backward = (floats(4096, 16), ids, of, size, most, 1000, False, mode, None)
        yield case("_embedding_bag_dense_backward.default", *backward)
        with_starts = (floats(4096, 16), ids, starts, of, size, most, 1000, False, mode, False, None)
        yield case("_embedding_bag_backward.default", *with_starts)


# Channels, width, kernel, filters a channel, stride.
DEPTHWISE = (
    (64, 28, 3, 1, 1),
    (64, 28, 3, 1, 2),
    (64, 28, 5, 1, 1),
    (64, 28, 7, 1, 1),
    (40, 28, 7, 1, 1),
    (32, 28, 7, 2, 1),
)
SMALL_DEPTHWISE = ((256, 2, 7, 1, 1), (256, 2, 3, 1, 1), (64, 1, 5, 1, 1))


def depthwise(shapes: tuple[tuple[int, ...], ...]) -> Iterator[Case]:
    """Each channel on its own: small kernels, large ones as in ConvNeXt."""
    for last in (False, True):
        for channels, wide, tap, many, stride in shapes:
            x, w = floats(8, channels, wide, wide), floats(channels * many, 1, tap, tap)
            x = x.contiguous(memory_format=torch.channels_last) if last else x
            shape = ([stride] * 2, [tap // 2] * 2, [1, 1], False, [0, 0], channels)
            yield case("convolution.default", x, w, None, *shape)
            y = torch.ops.aten.convolution.default(x, w, None, *shape)
            bias = [channels * many]
            yield case("convolution_backward.default", torch.rand_like(y), x, w, bias, *shape, [True] * 3)


def small_volumes() -> Iterator[Case]:
    """A batch of one below the size from which oneDNN takes it; the last dimension does not count."""
    x, w, bias = floats(1, 16, 8, 8, 8), floats(16, 8, 2, 2, 2), floats(8)
    yield case("convolution.default", x, w, bias, [2] * 3, [0] * 3, [1] * 3, True, [0] * 3, 1)
    x, w = floats(1, 16, 16, 16, 16), floats(8, 16, 3, 3, 3)
    shape = ([1] * 3, [1] * 3, [1] * 3, False, [0] * 3, 1)
    yield case("convolution.default", x, w, bias, *shape)
    yield case("convolution_backward.default", floats(1, 8, 16, 16, 16), x, w, [8], *shape, [True] * 3)


def exact() -> list[Case]:
    """Cases whose estimate must be tight."""
    found = [*pointwise(torch.float32), *rows(torch.float32), *moves(torch.float32), *products(torch.float32)]
    found += [*images(False), *images(True), *attention(torch.float32), *complexes(), *spectra()]
    found += [*volumes(), *small_volumes(), *seldom(), *bags(), *depthwise(DEPTHWISE)]
    return [*found, *products(torch.float64)]


def bounded() -> list[Case]:
    """Cases whose estimate must only be an upper bound."""
    half = torch.bfloat16
    return [*depthwise(SMALL_DEPTHWISE), *pointwise(half), *rows(half), *moves(half), *products(half), *attention(half)]
