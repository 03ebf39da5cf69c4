"""The command line.  Cheap failures come first: torch is not imported before they are ruled out."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import click

from hiremate_gen.config import STAGES, TIME_LIMIT_S, Options, ProfileOptions, Report
from hiremate_gen.errors import HiremateError, UsageError
from hiremate_gen.output import FIRST_LINE, check_target, difference, write
from hiremate_gen.units import parse_size

# torch's profiler, which measures memory, reports its own comings and goings on standard error.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

_BEFORE_BUDGET = ("load", "trace", "graph", "partition")


class _Default(click.Group):
    """A group whose command `generate` need not be named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # The group has no options of its own: whatever comes first belongs to `generate`, even when it is --help.
        return super().parse_args(ctx, args if args[:1] and args[0] in self.commands else ["generate", *args])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return "" if name == "generate" else name, command, rest


class _Context(click.Context):
    """Says "hiremate-gen", not "hiremate-gen generate"."""

    @property
    def command_path(self) -> str:
        return " ".join(super().command_path.split())


class _Command(click.Command):
    context_class = _Context


def _show_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            click.echo(f"hiremate-gen {version('hiremate-gen')}")
        except PackageNotFoundError:
            click.echo("hiremate-gen, not installed")
        ctx.exit()


@click.group(cls=_Default)
def main() -> None:
    """See `generate`."""


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    """What every command that reads a model takes."""
    options = (
        click.argument("model_path", metavar="MODEL.py"),
        click.option("--model", metavar="EXPR", help="How to build the model, in the namespace of MODEL.py."),
        click.option("--inputs", metavar="EXPR", multiple=True, help="One input; NAME=EXPR for a keyword. Repeatable."),
        click.option("--device", default="cpu", show_default=True, help="Where the step runs: cpu, cuda."),
        click.option("--force", is_flag=True, help="Overwrite a file that this tool did not write."),
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


@main.command(cls=_Command, epilog="See also: hiremate-gen profile MODEL.py -o profile.json")
@_shared
@click.option("--budget", "budget_text", metavar="SIZE", default="", help="6GiB, 512MiB, 1.5GB, bytes, 60% of eager's.")
@click.option("-o", "--output", metavar="OUT.py", help="Where the file goes; - is standard output.")
@click.option("--costs", default="roofline", show_default=True, metavar="unit|roofline|FILE", help="Time of each op.")
@click.option("--plan", metavar="FILE", help="Emit from this plan; nothing is solved.")
@click.option("--save-plan", metavar="FILE", help="Write the plan as JSON, too.")
@click.option("--dump", type=click.Choice(STAGES), help="Print what this stage gives, and stop.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when OUT.py is not what would be written.")
@click.option("--diff", is_flag=True, help="As --check, and print the difference.")
@click.option("--time-limit", "time_limit_s", default=TIME_LIMIT_S, show_default=True, metavar="SECONDS",
              type=click.FloatRange(min=0, min_open=True), help="For the solver.")  # fmt: skip
@click.option("--no-verify", "verify", flag_value=False, default=True, help="Do not run the result against eager.")
@click.option("--no-cache", "cache", flag_value=False, default=True,
              help="Solve every block anew; else what was solved is kept in $HIREMATE_GEN_CACHE.")  # fmt: skip
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help="Show it.")
def generate(show_traceback: bool, **given: Any) -> None:
    """Write OUT.py: the models of MODEL.py with a training step whose peak memory stays under the budget."""
    with _exit_codes(show_traceback):
        options = _options(**given)
        _check_files(options)
        with _progress() as report:
            from hiremate_gen.pipeline import generate as run

            result = run(options, report)
        _finish(options, result)


@main.command(cls=_Command)
@_shared
@click.option("-o", "--output", metavar="FILE", required=True, help="Where the JSON goes; - is standard output.")
def profile(show_traceback: bool, **given: Any) -> None:
    """Measure time and workspace of each distinct op of MODEL.py on this machine, for --costs FILE."""
    with _exit_codes(show_traceback):
        options = ProfileOptions(**given)
        _check_source(options.model_path)
        check_target(options.output, force=options.force, ours="{")
        with _progress() as report:
            from hiremate_gen.pipeline import profile as run

            text = run(options, report)
        _put(options.output, text)


def _options(budget_text: str, output: str | None, **given: Any) -> Options:
    """Raises UsageError for what does not go together."""
    dump = given["dump"]
    if not budget_text and dump not in _BEFORE_BUDGET:
        raise UsageError("the budget is missing", hint="pass --budget 6GiB, or --budget 60% of eager's peak")
    if output is None and not dump:
        raise UsageError("the output is missing", hint="pass -o OUT.py, or -o - for standard output")
    if output in (None, "-") and (given["check"] or given["diff"]):
        raise UsageError("there is nothing to compare with", hint="pass -o OUT.py")
    try:
        budget = parse_size(budget_text) if budget_text else None
    except ValueError as error:
        raise UsageError(str(error), where="--budget") from None
    return Options(budget_text=budget_text, budget=budget, output=output or "-", **given)


def _check_files(options: Options) -> None:
    """Everything about files that can be refused before any work.  Raises UsageError."""
    _check_source(options.model_path)
    for flag, path in (("--plan", options.plan), ("--costs", options.costs)):
        if path is not None and not (flag == "--costs" and path in ("unit", "roofline")) and not os.path.isfile(path):
            raise UsageError(f"there is no file {path}", where=flag)
    if options.dump or options.check or options.diff:
        return
    if os.path.exists(options.output) and os.path.samefile(options.output, options.model_path):
        raise UsageError("the output would replace the model", where=options.output, hint="choose another name")
    check_target(options.output, force=options.force)
    if options.save_plan is not None:
        check_target(options.save_plan, force=options.force, ours="{")


def _check_source(path: str) -> None:
    if not os.path.isfile(path):
        raise UsageError("is a folder" if os.path.isdir(path) else "there is no such file", where=path)
    with open(path, encoding="utf-8", errors="replace") as file:
        if file.readline().rstrip() == FIRST_LINE:
            raise UsageError("was written by hiremate-gen", where=path, hint="plan the file that it was made from")


def _finish(options: Options, result: Any) -> None:
    """Write, print or compare; exits 1 when a comparison fails."""
    if options.dump:
        _put("-", result.text)
    elif options.check or options.diff:
        changes = difference(options.output, result.text)
        if options.diff:
            _put("-", changes)
        _say(f"{options.output} is {'not ' if changes else ''}up to date")
        if changes:
            sys.exit(1)
    else:
        if options.save_plan is not None:
            _put(options.save_plan, result.plan_json)
        _put(options.output, result.text)
        _say(result.summary)


def _put(path: str, text: str) -> None:
    if path == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
    else:
        write(path, text)


def _say(text: str) -> None:
    if text:
        click.echo(text.rstrip("\n"), err=True)


@contextmanager
def _exit_codes(show_traceback: bool) -> Iterator[None]:
    """Errors become one message and an exit code; nothing ends in a traceback unless it is asked for."""
    try:
        yield
    except HiremateError as error:
        if show_traceback:
            traceback.print_exc()
        _say(f"error: {error}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _say("interrupted")
        sys.exit(130)
    except Exception as error:
        if show_traceback:
            traceback.print_exc()
        text = " ".join(str(error).split())
        _say(f"internal error: {type(error).__name__}: {text}")
        _say("  this is a bug of hiremate-gen: please report it with what --traceback prints")
        sys.exit(70)


@contextmanager
def _progress() -> Iterator[Report]:
    """Tells what is being done, on a terminal only; prints of the user's code do not reach standard output."""
    with redirect_stdout(sys.stderr):
        if not sys.stderr.isatty():
            yield lambda line: None
            return
        from rich.console import Console

        with Console(stderr=True).status("loading") as status:
            yield lambda line: status.update(line)
