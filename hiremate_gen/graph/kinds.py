"""What each kind of ATen op allows: making views, running again, working in place."""

from __future__ import annotations

import torch
from torch._ops import OpOverload

aten = torch.ops.aten

# They hand back their input's storage although their schema does not say so.
_UNDECLARED_VIEWS = frozenset(
    {aten._unsafe_view.default, aten.lift_fresh.default, aten.unsafe_split.Tensor, aten.unsafe_split_with_sizes.default}
)

# Ties and atomic order may fall differently in a second run, so what they gave the first time is kept.
_NEVER_AGAIN = frozenset(
    {"topk", "sort", "argsort", "argmax", "argmin", "kthvalue", "median", "mode", "unique2", "_unique2", "nonzero"}
)

# Elementwise ops whose result may overwrite an operand of the same size: target -> positions of such operands.
IN_PLACE: dict[OpOverload, tuple[int, ...]] = {
    aten.relu.default: (0,),
    aten.add.Tensor: (0, 1),
    aten.sub.Tensor: (0,),
    aten.mul.Tensor: (0, 1),
    aten.mul.Scalar: (0,),
    aten.div.Tensor: (0,),
    aten.div.Scalar: (0,),
    aten.neg.default: (0,),
    aten.masked_fill.Scalar: (0,),
    aten.threshold_backward.default: (0,),
    aten.sigmoid.default: (0,),
    aten.silu.default: (0,),
    aten.tanh.default: (0,),
    aten.exp.default: (0,),
    aten.leaky_relu.default: (0,),
}
# Complex products and quotients round several times, and where depends on the loop that the kernel takes: another one
# when the result lies in an operand, and another order of the factors is another sum.
_EXACT_COMPLEX = frozenset({aten.add.Tensor, aten.sub.Tensor, aten.neg.default, aten.masked_fill.Scalar})


def overwrites(target: OpOverload, *, scaled: bool, is_complex: bool) -> tuple[int, ...]:
    """Positions of operands that the result may overwrite without another bit in it.

    `scaled` tells of an `alpha`, which goes to the second operand.
    """
    if is_complex and rounds_by_place(target, scaled=scaled):
        return ()
    return tuple(at for at in IN_PLACE.get(target, ()) if not (at and scaled))


def rounds_by_place(target: OpOverload, *, scaled: bool) -> bool:
    """Whether the bits of a complex result depend on whether it lies in an operand.  Of elementwise ops only."""
    return target in IN_PLACE and (scaled or target not in _EXACT_COMPLEX)


def is_view(target: OpOverload) -> bool:
    """Whether the result shares its first argument's storage, so that it costs no memory and no time."""
    if target in _UNDECLARED_VIEWS:
        return True
    returns = target._schema.returns
    return bool(returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in returns)


def is_random(target: OpOverload, args: tuple[object, ...]) -> bool:
    """Whether the op draws from the random generator.

    Attention carries the tag whether or not it drops: its dropout argument decides.
    """
    if torch.Tag.nondeterministic_seeded not in target.tags:
        return False
    names = [a.name for a in target._schema.arguments]
    if "dropout_p" in names:
        at = names.index("dropout_p")
        return at < len(args) and args[at] != 0.0
    return True


def may_run_again(target: OpOverload, args: tuple[object, ...]) -> bool:
    """Whether a second run on the same values gives the same bits and no other effect."""
    namespace, name = target.namespace, target._schema.name.split("::")[1]
    if namespace not in ("aten", "prims"):
        return False  # a custom op may have state that its schema does not show
    if name in ("index_put", "_unsafe_index_put") and len(args) > 3 and args[3]:
        return False  # threads add up in the order in which they come
    return name not in _NEVER_AGAIN and not target._schema.is_mutable
