"""hiremate-gen: a compiler from a PyTorch model and a memory budget to readable training-step source."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hiremate_gen.pipeline import Result

__all__ = ["generate"]


def generate(
    model_path: str,
    budget: str,
    *,
    model: str | None = None,
    inputs: Sequence[str] = (),
    device: str = "cpu",
    costs: str = "roofline",
    strategy: str = "hiremate",
    plan: str | None = None,
    time_limit_s: float | None = None,
    verify: bool = True,
    output: str = "-",
) -> Result:
    """The command line's job as a call: `.text` of the result is the generated file.  Nothing is written.

    Arguments are as on the command line (`hiremate-gen --help`); `output` is only named in the header.
    Raises hiremate_gen.errors.HiremateError.
    """
    from hiremate_gen.config import STRATEGIES, STRATEGY, TIME_LIMIT_S, Options
    from hiremate_gen.errors import UsageError
    from hiremate_gen.pipeline import generate as run
    from hiremate_gen.units import parse_size

    if strategy not in STRATEGIES:
        raise UsageError(f"there is no {strategy!r}", where="strategy", hint=f"one of {', '.join(STRATEGIES)}")
    if plan is not None and strategy != STRATEGY:
        raise UsageError("with a plan nothing is solved", where="strategy", hint="leave out one of the two")
    try:
        size = parse_size(budget)
    except ValueError as error:
        raise UsageError(str(error), where="budget") from None
    options = Options(
        model_path=model_path,
        budget_text=budget,
        budget=size,
        output=output,
        model=model,
        inputs=tuple(inputs),
        device=device,
        costs=costs,
        strategy=strategy,
        plan=plan,
        time_limit_s=TIME_LIMIT_S if time_limit_s is None else time_limit_s,
        verify=verify,
    )
    return run(options, lambda line: None)
