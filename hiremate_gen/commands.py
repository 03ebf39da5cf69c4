"""The commands as click sees them, speaking as the rest of the tool does: `error: what: why`, then what to do."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import click

from hiremate_gen.errors import UsageError
from hiremate_gen.terminal import say

_VALUE_WANTED, _VALUE_GIVEN = "requires an argument", "does not take a value"


class DefaultGroup(click.Group):
    """A group whose command `generate` need not be named."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Ends the process, as click does; a command line that cannot be read is told in our words."""
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except click.ClickException as error:
            say(f"error: {_in_words(error, self.commands)}")
            code = error.exit_code
        except click.Abort:
            say("interrupted")
            code = 130
        sys.exit(code)

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


class Command(click.Command):
    context_class = _Context


class Choice(click.Choice[str]):
    """One of some words; names the one that is nearest to what was given."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            self.fail(f"`{value}` is none of {', '.join(self.choices)}{_near(str(value), self.choices)}", param, ctx)
        return str(value)


class Seconds(click.ParamType[float]):
    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = 0.0
        if not 0.0 < seconds < float("inf"):
            self.fail(f"`{value}` is not a number of seconds above zero\nas in --time-limit 60", param, ctx)
        return seconds


def show_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            click.echo(f"hiremate-gen {version('hiremate-gen')}")
        except PackageNotFoundError:
            click.echo("hiremate-gen, not installed")
        ctx.exit()


def _in_words(error: click.ClickException, commands: Iterable[str]) -> UsageError:
    """What click found, as an error of ours."""
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    help_command = f"{ctx.command_path if ctx else 'hiremate-gen'} --help"
    if isinstance(error, click.NoSuchOption):
        flags = [o for p in ctx.command.params for o in p.opts if o.startswith("--")] if ctx else []
        near = _near(error.option_name, ["--help", *flags])
        hint = near.strip("\n") or f"{help_command} lists all options"
        return UsageError("there is no such option", where=error.option_name, hint=hint)
    if isinstance(error, click.BadOptionUsage):
        message = "a value is missing" if _VALUE_WANTED in error.message else error.message.rstrip(".")
        message = "it takes no value" if _VALUE_GIVEN in error.message else message
        return UsageError(message, where=error.option_name, hint=f"{help_command} tells what it takes")
    if isinstance(error, click.BadParameter):
        where = max(error.param.opts, key=len) if error.param is not None else ""
        message, _, hint = error.message.partition("\n")
        return UsageError(message.rstrip("."), where=where, hint=hint or f"{help_command} tells what it takes")
    extra = re.fullmatch(r"Got unexpected extra arguments? \((.*)\)", error.message)
    if extra is not None:
        first = ctx.params.get("model_path") if ctx is not None else None
        command = get_close_matches(str(first), commands, n=1)
        hint = (
            f"did you mean `hiremate-gen {command[0]}`?"
            if command
            else "give one MODEL.py, and a flag before each value"
        )
        return UsageError("there is a word too many", where=extra[1], hint=hint)
    return UsageError(error.message.rstrip("."), hint=f"see {help_command}")


def _near(word: str, known: Iterable[str]) -> str:
    """A line for the nearest word, if one is near."""
    found = get_close_matches(word, list(known), n=1)
    return f"\ndid you mean {found[0]}?" if found else ""
