"""What the command line says, and where: results on standard output, all else on standard error."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout

from hiremate_gen.config import Report
from hiremate_gen.errors import HiremateError
from hiremate_gen.ir.table import Table, plain
from hiremate_gen.output import write


def put(path: str, text: str) -> None:
    """Into a file, or to standard output when it is called `-`."""
    if path == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
    else:
        write(path, text)


def say(text: str) -> None:
    """A message for people."""
    if text:
        print(text.rstrip("\n"), file=sys.stderr)


def show(tables: Sequence[Table]) -> None:
    """Tables on standard output: drawn on a terminal, plain text else."""
    if not tables:
        return
    if not sys.stdout.isatty():
        put("-", plain(tables))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    console = Console()
    for table in tables:
        drawn = Drawn(title=Text(table.title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for number, column in enumerate(table.columns):
            drawn.add_column(Text(column), justify="right" if number in table.right else "left", overflow="fold")
        for row in table.rows:
            drawn.add_row(*map(Text, row))
        console.print(drawn if table.columns else Text(table.title, style="bold"))


@contextmanager
def exit_codes(show_traceback: bool, subject: str = "") -> Iterator[None]:
    """Errors become one message and an exit code; nothing ends in a traceback unless it is asked for.

    `subject` names the target that an error belongs to, where there are several.
    """
    try:
        yield
    except HiremateError as error:
        if show_traceback:
            traceback.print_exc()
        say(f"error: {f'{subject}: ' * (error.where != subject) * bool(subject)}{error}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(130)
    except Exception as error:
        if show_traceback:
            traceback.print_exc()
        text = " ".join(str(error).split())
        say(f"internal error: {f'{subject}: ' * bool(subject)}{type(error).__name__}: {text}")
        say("  this is a bug of hiremate-gen: please report it with what --traceback prints")
        sys.exit(70)


@contextmanager
def progress() -> Iterator[Report]:
    """Tells what is being done, on a terminal only; prints of the user's code do not reach standard output."""
    with redirect_stdout(sys.stderr):
        if not sys.stderr.isatty():
            yield lambda line: None
            return
        from rich.console import Console

        with Console(stderr=True).status("loading") as status:
            yield lambda line: status.update(line)
