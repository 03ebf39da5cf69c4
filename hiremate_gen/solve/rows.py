"""Rows of a linear program, as they are collected."""

from __future__ import annotations

from dataclasses import dataclass, field

import scipy.sparse as sp


@dataclass(slots=True)
class Rows:
    """Sparse rows `A x <= b`, collected as triplets."""

    row: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    right: list[float] = field(default_factory=list)

    def add(self, terms: list[tuple[int, float]], right: float) -> None:
        at = len(self.right)
        for column, value in terms:
            self.row.append(at)
            self.column.append(column)
            self.value.append(value)
        self.right.append(right)

    def matrix(self, columns: int) -> sp.csr_matrix:
        return sp.csr_matrix((self.value, (self.row, self.column)), shape=(len(self.right), columns))
