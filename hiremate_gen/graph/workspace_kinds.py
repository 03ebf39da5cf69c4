"""Workspace by kind of op on the CPU: each rule was read off the allocator's events and is tested against them."""

from __future__ import annotations

from torch import Tensor

from hiremate_gen.graph.call import Call, channels_last, copied, low_precision, nbytes, numel, tensors

PACKED = 147456  # bytes that a half-precision matrix product packs its operands into, for each thread


def nothing(call: Call, threads: int) -> int:
    """Reads its inputs where they lie, conjugates too."""
    return 0


def none(call: Call, threads: int) -> int:
    """Reads its inputs where they lie and writes its outputs."""
    return lazy(call)


def dense(call: Call, threads: int) -> int:
    """Wants each input dense: copies those that are not, and those that lie otherwise than the first."""
    images = [t for t in call.inputs if t.ndim in (4, 5)]
    first = images[0] if images else None
    mixed = sum(nbytes(t) for t in images[1:] if first is not None and channels_last(t) != channels_last(first))
    like_out = nbytes(first) if first is not None and channels_last(call.out) != channels_last(first) else 0
    return lazy(call) + sum(copied(t) for t in call.inputs) + max(mixed, like_out)


def pooled_backward(call: Call, threads: int) -> int:
    """As `dense`, with a copy of the image when it lies channels-last and its gradient does not, or the other way."""
    laid = {channels_last(t) for t in call.inputs if t.ndim in (4, 5)}
    return sum(copied(t) for t in call.inputs) + (nbytes(call.out) if len(laid) > 1 else 0)


def pointwise(call: Call, threads: int) -> int:
    """Inputs of another dtype than the common one are converted first."""
    return lazy(call) + casts(call)


def casts(call: Call) -> int:
    """Bytes of the converted inputs; masks are read as they are, one-element tensors are read as scalars."""
    masks = {"condition", "mask"}
    inputs = tensors(v for k, v in call.given.items() if k not in masks)
    common = call.out.dtype
    if common.itemsize == 1:  # a comparison: its inputs agree on a dtype of their own
        common = max(
            (t.dtype for t in inputs if t.ndim),
            key=lambda d: (d.is_complex, d.is_floating_point, d.itemsize),
            default=common,
        )
    return sum(numel(t) * common.itemsize for t in inputs if t.dtype != common and numel(t) > 1)


def lazy(call: Call) -> int:
    """Conjugates are views that kernels resolve by a copy."""
    return sum(nbytes(t) for t in call.inputs if t.is_complex() and t.is_conj())


def reduction(call: Call, threads: int) -> int:
    """A change of dtype, or a mean of a half-precision tensor, reads a converted copy."""
    source = call.inputs[0]
    wide = max(call.out.element_size(), 4)
    if source.dtype != call.out.dtype or (low_precision(source) and call.name == "mean"):
        return numel(source) * wide + 2 * numel(call.out) * wide
    return 2 * threads * 8


def matmul(call: Call, threads: int) -> int:
    """BLAS takes rows or columns with unit stride; other operands are copied, conjugates resolved.

    A batch in complex or half precision is copied whole, in float32 one matrix at a time.
    """
    names = [n for n in ("self", "mat1", "mat2", "batch1", "batch2") if isinstance(call.given.get(n), Tensor)]
    operands = [call.tensor(n) for n in names if not (n == "self" and len(names) == 3)]
    extra = lazy(call)
    for t in operands:
        whole = t.ndim < 3 or t.is_complex() or low_precision(t) or t.stride(0) == 0
        if not _blas(t) or (t.ndim == 3 and (low_precision(t) or t.is_complex()) and not _dense_batch(t)):
            extra += nbytes(t) if whole else nbytes(t) // max(1, int(t.shape[0]))
    if low_precision(call.out):
        extra += threads * PACKED
    return extra


def _blas(t: Tensor) -> bool:
    rows, columns = (int(n) for n in t.shape[-2:])
    down, across = (int(s) for s in t.stride()[-2:])
    return (across == 1 and down >= max(1, columns)) or (down == 1 and across >= max(1, rows))


def _dense_batch(t: Tensor) -> bool:
    return t.is_contiguous() or t.transpose(-1, -2).is_contiguous()


def dropout(call: Call, threads: int) -> int:
    """A scaled mask of the input's size beside the output, and the mask's own scale."""
    return nbytes(call.out)


def layer_norm_backward(call: Call, threads: int) -> int:
    """One row of both weight gradients for each thread."""
    row = numel(call.tensor("input")) // max(1, numel(call.tensor("mean")))
    return dense(call, threads) + 2 * threads * row * call.tensor("input").element_size()


def batch_norm(call: Call, threads: int) -> int:
    """Means and scales of each channel, and sums for each thread when the channels lie last."""
    return dense(call, threads) + int(call.tensor("input").shape[1]) * 8 * (4 + threads)


def batch_norm_backward(call: Call, threads: int) -> int:
    """A temporary of the image's size."""
    x = call.tensor("input")
    return dense(call, threads) + numel(x) * max(4, x.element_size()) + int(x.shape[1]) * 8 * (4 + threads)


def group_norm(call: Call, threads: int) -> int:
    x = call.tensor("input")
    rows = int(call.given["N"]) * int(call.given["C"]) * max(4, x.element_size())
    laid = channels_last(x)
    return dense(call, threads) + (rows * 2 * threads + rows if laid else 0)


def group_norm_backward(call: Call, threads: int) -> int:
    x = call.tensor("input")
    return dense(call, threads) + 2 * int(call.given["N"]) * int(call.given["C"]) * max(4, x.element_size())


def rms_norm(call: Call, threads: int) -> int:
    return nbytes(call.inputs[0]) * (5 if low_precision(call.inputs[0]) else 1) + 4 * numel(call.inputs[0]) // 64


def safe_softmax(call: Call, threads: int) -> int:
    """A mask of what is -inf, and one of the rows in which all is."""
    out = call.out
    return dense(call, threads) + numel(out) + numel(out) // max(1, int(out.shape[call.given["dim"]]))


def logsumexp(call: Call, threads: int) -> int:
    return nbytes(call.inputs[0]) + 2 * nbytes(call.out) + numel(call.out)


def pointwise_loss(call: Call, threads: int) -> int:
    """The terms before they are reduced, summed in float32; see `output_bytes` for what stays."""
    x = call.inputs[0]
    if call.given.get("reduction") == 0:
        return nbytes(x)
    copies = {"binary_cross_entropy": 0, "binary_cross_entropy_with_logits": 2}.get(call.name, 1)
    return copies * nbytes(x) + (numel(x) * 4 if low_precision(x) else 0) + 2 * threads * 8


def upsample(call: Call, threads: int) -> int:
    """Small images are rearranged channels-last and back; large ones need a table of weights."""
    x = call.inputs[0]
    tables = 64 * sum(int(n) for n in call.out.shape[2:])
    large = x.ndim == 4 and sum(int(n) for n in call.out.shape[2:]) > 128
    if channels_last(x) or large:
        return dense(call, threads) + tables
    return dense(call, threads) + nbytes(x) + nbytes(call.out) + tables


def tables(call: Call, threads: int) -> int:
    """A table of weights for each direction."""
    return dense(call, threads) + 64 * sum(int(n) for n in call.out.shape[2:])


def bicubic(call: Call, threads: int) -> int:
    return dense(call, threads) + 128 * sum(int(n) for n in call.out.shape[2:])


def unfold(call: Call, threads: int) -> int:
    x = call.inputs[0]
    return nbytes(x) * (2 if not x.is_contiguous() else 1)


def indexed(call: Call, threads: int) -> int:
    """Half precision is gathered in float32."""
    return numel(max((call.out, *call.inputs), key=numel)) * 4 if low_precision(call.out) else 0


def sorted_values(call: Call, threads: int) -> int:
    return dense(call, threads) + threads * 8 * int(call.inputs[0].shape[-1] if call.inputs[0].ndim else 1)


def scan(call: Call, threads: int) -> int:
    """Masks and integers are converted first."""
    return dense(call, threads) + casts(call)


def rolled(call: Call, threads: int) -> int:
    """One dimension after the other, each into a tensor of its own."""
    return lazy(call) + max(0, len(call.given["dims"] or ()) - 1) * nbytes(call.out)


def embedding_bag(call: Call, threads: int) -> int:
    """Where each bag begins and ends and how many it has, for a mean; the length of each for a maximum."""
    bags = 8 * numel(call.tensor("offsets"))
    return (0, 3 * bags + 8, bags)[call.given["mode"]]


def embedding_bag_backward(call: Call, threads: int) -> int:
    """The indices sorted, with their places and counts, and their bags where forward did not say; for a maximum, an
    index and a value for each entry."""
    indices, grad = numel(call.tensor("indices")), call.tensor("grad")
    if call.given["mode"] == 2:
        return copied(grad) + numel(grad) * 12 + 8 * numel(call.tensor("bag_size"))
    of = call.given.get("offset2bag")
    bags = 8 * (indices + 1) if isinstance(of, Tensor) and not numel(of) else 0
    return copied(grad) + 3 * 8 * indices + bags


def matrix_vector(call: Call, threads: int) -> int:
    """As a matrix product, with a vector that must lie in steps that BLAS knows."""
    matrix, vector = call.tensor("mat" if "mat" in call.given else "self"), call.tensor("vec")
    extra = 0 if _blas(matrix) else nbytes(matrix)
    return lazy(call) + extra + copied(vector) + (threads * PACKED if low_precision(matrix) else 0)


def distances(call: Call, threads: int) -> int:
    """Large Euclidean distances are products of the points, each longer by its squared length and a one."""
    points = (call.tensor("x1"), call.tensor("x2"))
    product = call.name == "_euclidean_dist" or (
        call.given["p"] == 2 and call.given["compute_mode"] != 2 and any(int(p.shape[-2]) > 25 for p in points)
    )
    longer = sum(nbytes(p) + 2 * nbytes(p) // max(1, int(p.shape[-1])) for p in points)
    packed = threads * PACKED if low_precision(call.out) else 0
    return dense(call, threads) + (longer + packed if product else 0)


def unknown(call: Call, threads: int) -> int:
    """An op without a rule: a temporary for each output, a dense copy of each input that is not."""
    return lazy(call) + sum(nbytes(t) for t in call.outputs if t is not None) + sum(copied(t) for t in call.inputs)


def attention(call: Call, threads: int) -> int:
    """Flash attention: for each thread one tile of scores, its row sums and maxima, and a tile of the output."""
    q, k = call.tensor("query"), call.tensor("key")
    rows, cols, head = _tile_rows(q), min(512, int(k.shape[-2])), int(q.shape[-1])
    tile = rows * cols + 2 * rows + rows * head
    packed = 2 * (nbytes(k) + nbytes(k)) + threads * tile * 2 if low_precision(q) else 0
    return threads * tile * max(4, q.element_size()) + packed + _mask(call)


def attention_backward(call: Call, threads: int) -> int:
    """Two tiles for each thread, scores and their gradient, and the row sums of grad_out times out."""
    q, k = call.tensor("query"), call.tensor("key")
    rows, cols = _tile_rows(q), min(512, int(k.shape[-2]))
    tile = 2 * rows * cols + rows
    packed = nbytes(k) * 2 + threads * (tile * 2 + PACKED) if low_precision(q) else 0
    turned = nbytes(q) if q.is_contiguous() else 0  # heads outside of time: the gradient is made the other way round
    return threads * tile * max(4, q.element_size()) + packed + turned + _mask(call)


def _tile_rows(q: Tensor) -> int:
    rows = int(q.shape[-2])
    return 256 if rows >= 768 else 64 if rows >= 192 else min(32, rows)


def _mask(call: Call) -> int:
    mask = call.given.get("attn_mask")
    wide = call.tensor("query").element_size()
    return numel(mask) * wide if isinstance(mask, Tensor) and mask.element_size() != wide else 0
