"""The command line.  Cheap failures come first: torch is not imported before they are ruled out."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import Any

import click

from hiremate_gen import targets
from hiremate_gen.commands import Choice, Command, DefaultGroup, Seconds, show_version
from hiremate_gen.config import STAGES, STRATEGIES, STRATEGY, TIME_LIMIT_S, USUAL, Options, ProfileOptions
from hiremate_gen.errors import UsageError
from hiremate_gen.output import FIRST_LINE, check_target, difference, nearest
from hiremate_gen.seal import outdated
from hiremate_gen.terminal import exit_codes, progress, put, say, show
from hiremate_gen.units import parse_size

# torch's profiler, which measures memory, reports its own comings and goings on standard error.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

_PAGE = "<!DOCTYPE html>\n<!-- Report by hiremate-gen. -->"  # how a report begins
_BEFORE_BUDGET = ("load", "trace", "graph", "partition")
_MAKES = {  # what makes the file that a flag names
    "--plan": "a run with --save-plan FILE makes one",
    "--costs": "`hiremate-gen profile MODEL.py -o FILE` makes one; unit and roofline need none",
}


@click.group(cls=DefaultGroup)
def main() -> None:
    """See `generate`."""


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    """What every command that reads a model takes."""
    options = (
        click.option("--model", metavar="EXPR", help="How to build the model, in the namespace of MODEL.py."),
        click.option("--inputs", metavar="EXPR", multiple=True, help="One input; NAME=EXPR for a keyword. Repeatable."),
        click.option("--device", default=USUAL["--device"], show_default=True, help="Where the step runs: cpu, cuda."),
        click.option(
            "--force", is_flag=True, help="Overwrite a file that is not ours; write again what is up to date."
        ),
        click.option(
            "--traceback",
            "show_traceback",
            is_flag=True,
            envvar="HIREMATE_GEN_TRACEBACK",
            help="Show where an error comes from.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@main.command(cls=Command, epilog="See also: hiremate-gen profile MODEL.py -o profile.json")
@click.argument("model_path", metavar="[MODEL.py]", required=False)
@_shared
@click.option("--budget", "budget_text", metavar="SIZE", default="", help="6GiB, 512MiB, 1.5GB, bytes, 60% of eager's.")
@click.option("-o", "--output", metavar="OUT.py", help="Where the file goes; - is standard output.")
@click.option(
    "--costs", default=USUAL["--costs"], show_default=True, metavar="unit|roofline|FILE", help="Time of each op."
)
@click.option("--strategy", default=STRATEGY, show_default=True, type=Choice(STRATEGIES),
              help="How the plan is found: ours, or a method of the literature.")  # fmt: skip
@click.option("--plan", metavar="FILE", help="Emit from this plan; nothing is solved.")
@click.option("--save-plan", metavar="FILE", help="Write the plan as JSON, too.")
@click.option("--dump", type=Choice(STAGES), help="Print what this stage gives, and stop.")
@click.option("--explain", is_flag=True, help="Print what is kept and why, and what lives at the peak.")
@click.option("--sweep", is_flag=True, help="Print what each budget costs.")
@click.option("--report", metavar="FILE.html", help="Write a page with plots and tables; with --sweep, of all budgets.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when OUT.py is not what would be written.")
@click.option("--diff", is_flag=True, help="As --check, and print the difference.")
@click.option("--time-limit", "time_limit_s", default=TIME_LIMIT_S, show_default=True, metavar="SECONDS",
              type=Seconds(), help="For the solver.")  # fmt: skip
@click.option("--no-verify", "verify", flag_value=False, default=True, help="Do not run the result against eager.")
@click.option("--no-cache", "cache", flag_value=False, default=True,
              help="Solve every block anew; else what was solved is kept in $HIREMATE_GEN_CACHE.")  # fmt: skip
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=show_version, help="Show it.")
@click.pass_context
def generate(ctx: click.Context, /, show_traceback: bool, **given: Any) -> None:
    """Write OUT.py: the models of MODEL.py with a training step whose peak memory stays under the budget.

    Without MODEL.py, write every target of [tool.hiremate-gen] in pyproject.toml that is not up to date.
    """
    with exit_codes(show_traceback):
        jobs = _jobs(ctx, given)
    codes = {0}
    for subject, job in jobs:
        try:
            with exit_codes(show_traceback, subject):
                _run(_options(**job), subject, lazy=given["model_path"] is None)
        except SystemExit as end:
            codes.add(int(end.code or 0))
            if end.code == 130:
                break
    sys.exit(max(codes))


def _run(options: Options, subject: str, lazy: bool) -> None:
    """`lazy`: leave alone what the seal says to be up to date."""
    _check_files(options)
    lazy = lazy and not (options.force or _prints(options) or _lacks(options) or outdated(options))
    if (lazy or options.check or options.diff) and _settled(options):
        return
    with progress() as report:
        from hiremate_gen.pipeline import generate as run

        result = run(options, report)
    _finish(options, result, subject)


@main.command(cls=Command)
@click.argument("model_path", metavar="MODEL.py", required=False)
@_shared
@click.option("-o", "--output", metavar="FILE", help="Where the JSON goes; - is standard output.")
def profile(show_traceback: bool, **given: Any) -> None:
    """Measure time and workspace of each distinct op of MODEL.py on this machine, for --costs FILE."""
    with exit_codes(show_traceback):
        if given["model_path"] is None:
            hint = "pass MODEL.py, as in: hiremate-gen profile MODEL.py -o profile.json"
            raise UsageError("the model is missing", hint=hint)
        if given["output"] is None:
            raise UsageError("the output is missing", hint="pass -o profile.json, or -o - for standard output")
        options = ProfileOptions(**given)
        _check_source(options.model_path)
        check_target(options.output, force=options.force, ours='{\n  "device": ')
        with progress() as report:
            from hiremate_gen.pipeline import profile as run

            result = run(options, report)
        put(options.output, result.text)
        say(result.summary)


def _jobs(ctx: click.Context, given: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """What to do: the command line, or where it says too little the targets of pyproject.toml, under what it says.

    Pairs of a name for messages and the parameters.  Raises UsageError.
    """
    said = {n: v for n, v in given.items() if ctx.get_parameter_source(n) is click.core.ParameterSource.COMMANDLINE}
    path, output = said.get("model_path"), said.get("output")
    found = targets.find(os.curdir) if not (path and output and said.get("budget_text")) else None
    chosen = targets.select(targets.read(found), path, output) if found is not None else ()
    if not chosen and path is None:
        hint = f"pass MODEL.py, or list targets under [tool.hiremate-gen] in {targets.FILE}"
        raise UsageError("the model is missing", hint=hint)
    if not chosen:
        return [("", given)]
    alone = [name for name in ("output", "plan", "save_plan", "report", "dump") if name in said]
    if len(chosen) > 1 and alone:
        hint = f"name its MODEL.py, or its output with -o; {found} has {len(chosen)} targets"
        raise UsageError(f"--{alone[0].replace('_', '-')} goes with one target", hint=hint)
    lacks = next((t for t in chosen if not {"budget_text", "dump", "sweep"} & {*t.given, *said}), None)
    if lacks is not None:
        raise UsageError("the budget is missing", where=lacks.where, hint='add budget = "60%", or pass --budget')
    return [(t.given["output"] if len(chosen) > 1 else "", {**given, **t.given, **said}) for t in chosen]


def _prints(options: Options) -> bool:
    return bool(options.dump or options.explain or options.sweep)


def _lacks(options: Options) -> bool:
    return any(path is not None and not os.path.exists(path) for path in (options.save_plan, options.report))


def _options(budget_text: str, output: str | None, **given: Any) -> Options:
    """Raises UsageError for what does not go together."""
    dump, compares = given["dump"], given["check"] or given["diff"]
    prints, reports = given["explain"] or given["sweep"], given["explain"] or given["report"]
    only_sweeps = given["sweep"] and not reports and not output
    if not budget_text and dump not in _BEFORE_BUDGET and not only_sweeps:
        raise UsageError("the budget is missing", hint="pass --budget 6GiB, or --budget 60% of eager's peak")
    if output is None and not (dump or prints or reports):
        raise UsageError("the output is missing", hint="pass -o OUT.py, or -o - for standard output")
    if given["plan"] is not None and given["strategy"] != STRATEGY:
        raise UsageError("with --plan nothing is solved", where="--strategy", hint="leave out one of the two")
    if output in (None, "-") and compares:
        raise UsageError("there is nothing to compare with", hint="pass -o OUT.py")
    if (prints or reports) and (dump or (compares and (prints or given["report"] == "-"))):
        raise UsageError("--explain, --sweep and --report - go with neither --dump nor --check nor --diff")
    if [output, given["report"], "-" if prints else ""].count("-") > 1:
        raise UsageError("two things would go to standard output", hint="pass -o OUT.py, or --report FILE.html")
    try:
        budget = parse_size(budget_text) if budget_text else None
    except ValueError as error:
        raise UsageError(str(error), where="--budget") from None
    given["model"] = _one_line(given["model"]) if given["model"] is not None else None
    given["inputs"] = tuple(map(_one_line, given["inputs"]))
    output = output or ("-" if dump else "")
    return Options(budget_text=budget_text, budget=budget, output=output, **given)


def _one_line(expression: str) -> str:
    """An expression as the header can show it: TOML and shells have strings of several lines."""
    return re.sub(r"\s*\n\s*", " ", expression.strip())


def _check_files(options: Options) -> None:
    """Everything about files that can be refused before any work.  Raises UsageError."""
    _check_source(options.model_path)
    for flag, path in (("--plan", options.plan), ("--costs", options.costs)):
        usual = ("unit", "roofline") if flag == "--costs" else ()
        if path is not None and path not in usual and not os.path.isfile(path):
            what = f"{path} is a folder" if os.path.isdir(path) else f"there is no file {path}"
            raise UsageError(what, where=flag, hint=nearest(path, usual) or _MAKES[flag])
    if options.dump or options.check or options.diff:
        return
    for path, ours in (
        (options.output, FIRST_LINE),
        (options.save_plan, '{\n "format": '),
        (options.report, _PAGE),
    ):
        if not path:
            continue
        if os.path.exists(path) and os.path.samefile(path, options.model_path):
            raise UsageError("the output would replace the model", where=path, hint="choose another name")
        check_target(path, force=options.force, ours=ours)


def _check_source(path: str) -> None:
    if not os.path.isfile(path):
        if os.path.isdir(path):
            raise UsageError("is a folder", where=path, hint="pass the file in it that has the model")
        hint = nearest(path) or "paths count from the folder that you are in"
        raise UsageError("there is no such file", where=path, hint=hint)
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        if file.readline().rstrip() == FIRST_LINE:
            raise UsageError("was written by hiremate-gen", where=path, hint="plan the file that it was made from")


def _settled(options: Options) -> bool:
    """What the seal says: whether nothing is left to do.  Exits 1 when the file is out of date and no one asks how."""
    reasons = outdated(options)
    say(f"{options.output} is {'not ' if reasons else ''}up to date{': ' * bool(reasons)}{'; '.join(reasons)}")
    if reasons and not options.diff:
        sys.exit(1)
    return not reasons


def _finish(options: Options, result: Any, subject: str) -> None:
    """Write or print; exits 1 after a difference."""
    if options.dump:
        put("-", result.text)
    elif options.diff:
        put("-", difference(options.output, result.text))
        sys.exit(1)
    else:
        for path, text in (
            (options.save_plan, result.plan_json),
            (options.output, result.text),
            (options.report, result.page),
        ):
            if path and text:
                put(path, text)
        show(result.tables)
        say(f"{f'{subject}: ' * bool(subject)}{result.summary}")
