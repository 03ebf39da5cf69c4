"""From the graph to a chain of blocks, at separators: single tensors that carry all gradients across a cut."""

from hiremate_gen.partition.chain import partition

__all__ = ["partition"]
