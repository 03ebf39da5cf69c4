"""Which top-level statements of model.py run when it is imported.

Many model files are scripts.  Definitions, imports and settings always run; training never does; whatever lies between
(`args = parser.parse_args()`, `data = loadmat(...)`, `table = make_table()`) runs when the model or its inputs need it,
and is left out of a script otherwise.  All of this is decided from the text, before anything runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from hiremate_gen.ir.source import Skipped
from hiremate_gen.load.judge import Judge, Kind
from hiremate_gen.load.references import bound, mentioned, reachable, read_at_once

ENTRY_POINTS = ("build_model", "example_inputs")


def skipped(tree: ast.Module, text: str, expressions: Iterable[str] = ()) -> tuple[Skipped, ...]:
    """The statements that are left out, in order.  `expressions` are those of the command line: they need names too."""
    judge = Judge(tree)
    wanted = {n for e in expressions for n in _names(e)}  # of `mask=EXPR` those of EXPR
    # What never runs, whoever needs it, needs nothing itself.
    judge.needed = frozenset(n for s in tree.body for n in bound(s))
    possible = [s for s in tree.body if judge.verdict(s)[0] < Kind.SCRIPT]
    judge.needed = reachable(possible, {*judge.modules, *ENTRY_POINTS, *wanted})
    verdicts = [judge.verdict(s) for s in tree.body]
    script = any(kind is Kind.SCRIPT for kind, _ in verdicts)
    lines = text.split("\n")
    result: list[Skipped] = []
    have: set[str] = set()
    missing: dict[str, Skipped] = {}  # names that only a statement left out would have bound
    for at, (statement, (kind, reason)) in enumerate(zip(tree.body, verdicts, strict=True)):
        names = bound(statement)
        lost = next((missing[n] for n in sorted(read_at_once(statement)) if n in missing), None)
        runs = kind is Kind.RUN or (kind is Kind.UNKNOWN and not script)
        if runs and lost is None:
            have.update(names)
            missing = {n: s for n, s in missing.items() if n not in have}
            continue
        if runs and lost is not None:
            reason = f"it needs what line {lost.line} sets, and that is not run: {lost.reason}"
        carried = not script and kind is not Kind.MAIN and (lost is None or lost.carried)
        item = Skipped(at, statement.lineno, lines[statement.lineno - 1].strip(), names, reason, carried)
        result.append(item)
        if kind is not Kind.MAIN:
            missing.update((n, item) for n in names if n not in have)
    return tuple(result)


def _names(expression: str) -> set[str]:
    try:
        call = ast.parse(f"f({expression})", mode="eval").body
    except (SyntaxError, ValueError):
        return set()  # refused with its position when it is evaluated
    parts = [*call.args, *call.keywords] if isinstance(call, ast.Call) else []
    return {n for part in parts for n in mentioned(part)}
