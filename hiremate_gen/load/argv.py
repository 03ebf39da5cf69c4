"""Scripts that parse their command line when they are imported: there are no arguments then, and that is said."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


class ArgumentsMissing(SystemExit):
    """What argparse would have ended the program with: `message`, and `parser`, which said so."""

    def __init__(self, message: str, parser: argparse.ArgumentParser) -> None:
        super().__init__(2)
        self.message, self.parser = message, parser

    @property
    def hint(self) -> str:
        """What to change in the file."""
        needed = [a for a in self.parser._actions if a.required]
        ways = [
            f'add_argument("{a.option_strings[-1]}", ...): `default=...` in place of `required=True`'
            if a.option_strings
            else f'add_argument("{a.dest}", ...): add `nargs="?", default=...`'
            for a in needed
        ]
        advice = ["give the arguments defaults:", *(f"  {way}" for way in ways)] if ways else []
        last = 'parse below `if __name__ == "__main__":`, and set above it, or in build_model(), what the model reads'
        return "\n  ".join([*advice, f"or {last}" if ways else last])


@contextmanager
def asked_politely() -> Iterator[None]:
    """Inside, argparse raises ArgumentsMissing in place of printing how the script is used."""
    before: Any = argparse.ArgumentParser.error

    def error(self: argparse.ArgumentParser, message: str) -> NoReturn:
        raise ArgumentsMissing(message, self)

    argparse.ArgumentParser.error = error  # type: ignore[method-assign]
    try:
        yield
    finally:
        argparse.ArgumentParser.error = before  # type: ignore[method-assign]
