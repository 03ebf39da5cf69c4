"""Bytes that an ATen op allocates inside itself, beyond its inputs and outputs, at its own peak.

A deterministic estimate by kind of op, of the shapes, strides and dtypes: an upper bound, tested against the
allocator's events.  Buffers that each thread has are counted for `THREADS` threads whatever the machine has, so
that plans do not depend on it: with more threads a profile, or the self-check's measurement, takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from hiremate_gen.graph import workspace_kinds as kinds
from hiremate_gen.graph.call import Call, bind, nbytes, storage_bytes
from hiremate_gen.graph.kinds import is_view
from hiremate_gen.graph.workspace_conv import convolution, convolution_backward
from hiremate_gen.graph.workspace_fourier import fourier

THREADS = 8
SCALARS = 128  # Python numbers become small tensors inside an op

Rule = Callable[[Call, int], int]

_RULES: dict[str, Rule] = {
    "convolution": convolution,
    "convolution_backward": convolution_backward,
    "native_dropout": kinds.dropout,
    "native_dropout_backward": kinds.dropout,
    "native_layer_norm": kinds.dense,
    "native_layer_norm_backward": kinds.layer_norm_backward,
    "_native_batch_norm_legit_functional": kinds.batch_norm,
    "_native_batch_norm_legit": kinds.batch_norm,
    "native_batch_norm": kinds.batch_norm,
    "native_batch_norm_backward": kinds.batch_norm_backward,
    "native_group_norm": kinds.group_norm,
    "native_group_norm_backward": kinds.group_norm_backward,
    "_fused_rms_norm": kinds.rms_norm,
    "_scaled_dot_product_flash_attention_for_cpu": kinds.attention,
    "_scaled_dot_product_flash_attention_for_cpu_backward": kinds.attention_backward,
    "logsumexp": kinds.logsumexp,
    "_safe_softmax": kinds.safe_softmax,
    "upsample_bicubic2d": kinds.bicubic,
    "_euclidean_dist": kinds.distances,
    "roll": kinds.rolled,
    "cumsum": kinds.scan,
    "cumprod": kinds.scan,
    "im2col": kinds.unfold,
    "sort": kinds.sorted_values,
    "_embedding_bag": kinds.embedding_bag,
    "_embedding_bag_dense_backward": kinds.embedding_bag_backward,
    "_embedding_bag_backward": kinds.embedding_bag_backward,
    "_cdist_forward": kinds.distances,
    "mv": kinds.matrix_vector,
    "addmv": kinds.matrix_vector,
}
_GROUPS: tuple[tuple[Rule, str], ...] = (
    (kinds.matmul, "mm bmm addmm baddbmm"),
    (kinds.reduction, "sum mean prod"),
    (kinds.none, "var std var_mean amax amin max min argmax argmin any all linalg_vector_norm norm diagonal_copy"),
    (kinds.pointwise_loss, "mse_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits"),
    (
        kinds.indexed,
        "gather scatter scatter_add index_select index index_put _unsafe_index _unsafe_index_put index_add",
    ),
    (kinds.indexed, "embedding embedding_dense_backward"),
    (fourier, "_fft_c2c _fft_r2c _fft_c2r"),
    (kinds.upsample, "upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d"),
    (kinds.tables, "upsample_trilinear3d"),
    (kinds.pooled_backward, "avg_pool2d_backward max_pool2d_with_indices_backward _adaptive_avg_pool2d_backward"),
    (kinds.pooled_backward, "reflection_pad2d_backward upsample_nearest2d_backward upsample_bilinear2d_backward"),
    (kinds.bicubic, "upsample_bicubic2d_backward"),
    (kinds.dense, "_softmax _log_softmax _softmax_backward_data _log_softmax_backward_data topk"),
    (kinds.dense, "nll_loss_forward nll_loss_backward nll_loss2d_forward nll_loss2d_backward"),
    (kinds.dense, "max_pool2d_with_indices avg_pool2d _adaptive_avg_pool2d reflection_pad2d pixel_shuffle"),
    (kinds.nothing, "clone _to_copy resolve_conj _conj_physical grid_sampler_2d"),
    (kinds.none, "cat stack constant_pad_nd slice_backward select_backward repeat flip tril triu"),
    (kinds.none, "slice_scatter select_scatter new_empty new_empty_strided linspace pixel_unshuffle"),
    (kinds.dense, "dot _prelu_kernel _prelu_kernel_backward"),
    (kinds.none, "new_zeros new_ones new_full zeros ones full zeros_like ones_like full_like empty_like arange"),
    (kinds.none, "bernoulli rand_like randn_like rand randn scalar_tensor polar complex view_as_real_copy copy"),
    (kinds.none, "as_strided_scatter masked_scatter index_fill index_copy scatter_reduce diag_embed fill zero eye"),
    (kinds.dense, "avg_pool3d max_pool3d_with_indices _adaptive_avg_pool3d adaptive_max_pool2d replication_pad2d"),
    (kinds.dense, "replication_pad1d replication_pad3d reflection_pad1d reflection_pad3d native_channel_shuffle"),
    (kinds.dense, "addr logcumsumexp cummax cummin std_mean glu glu_backward bucketize searchsorted linalg_cross"),
    (kinds.dense, "grid_sampler_3d grid_sampler_2d_backward col2im _weight_norm_interface log_sigmoid_forward"),
    (kinds.dense, "_weight_norm_interface_backward upsample_nearest1d_backward upsample_linear1d_backward"),
    (kinds.pooled_backward, "avg_pool3d_backward max_pool3d_with_indices_backward _adaptive_avg_pool3d_backward"),
    (kinds.pooled_backward, "adaptive_max_pool2d_backward replication_pad2d_backward upsample_nearest3d_backward"),
    (kinds.pooled_backward, "reflection_pad1d_backward reflection_pad3d_backward upsample_trilinear3d_backward"),
    (kinds.pointwise, "elu_backward leaky_relu_backward hardtanh_backward mish_backward softplus_backward hardswish"),
    (kinds.pointwise, "hardswish_backward mse_loss_backward smooth_l1_loss_backward huber_loss_backward"),
    (kinds.pointwise, "binary_cross_entropy_backward"),
)
_RULES |= {name: rule for rule, names in _GROUPS for name in names.split()}

# Reduced to a scalar in place: the scalar keeps the storage of all the terms.
_KEEPS_TERMS = ("mse_loss", "smooth_l1_loss", "binary_cross_entropy")


def workspace_bytes(
    target: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    outputs: object,
    *,
    read: Sequence[bool] | None = None,
    threads: int = THREADS,
) -> int:
    """Upper bound of the bytes inside one call.

    `args` and `kwargs` are an fx node's, with `meta["val"]` in place of nodes; `outputs` is its own `meta["val"]`.
    `read` tells for each output whether the plan counts it: what it does not count is workspace.  An op that has no
    rule is given a temporary for each output (`has_rule` tells).
    """
    call = bind(target, args, kwargs, outputs)
    if is_view(call.op):
        return 0
    inside = SCALARS + max(0, rule(call)(call, threads))
    if read is None:
        return inside
    sizes = output_bytes(target, args, kwargs, outputs)
    return inside + sum(size for size, counted in zip(sizes, read, strict=True) if not counted)


def has_rule(target: str, args: Sequence[Any], kwargs: Mapping[str, Any], outputs: object) -> bool:
    """Whether the estimate is a measured rule, not the guess for unknown ops."""
    call = bind(target, args, kwargs, outputs)
    return is_view(call.op) or rule(call) is not kinds.unknown


def output_bytes(target: str, args: Sequence[Any], kwargs: Mapping[str, Any], outputs: object) -> tuple[int, ...]:
    """Bytes of storage that an output really keeps: what the fake tensor says, but for reduced losses and `col2im`."""
    call = bind(target, args, kwargs, outputs)
    if call.name in _KEEPS_TERMS and call.given.get("reduction") != 0:
        return (nbytes(call.inputs[0]),)
    if call.name == "col2im":  # made in the storage of the columns
        return (nbytes(call.inputs[0]),)
    return tuple(storage_bytes(t) if isinstance(t, Tensor) else 0 for t in call.outputs)


def rule(call: Call) -> Rule:
    """The rule for a call: by name, else by torch's own tag for pointwise ops."""
    found = _RULES.get(call.name)
    return found or (kinds.pointwise if call.pointwise else kinds.unknown)
