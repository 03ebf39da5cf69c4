"""The user's text as it counts: decoded, without a byte order mark, its lines ended by \\n, and its digest."""

from __future__ import annotations

import codecs
import hashlib
import io
import re
import tokenize
from pathlib import Path

from hiremate_gen.errors import LoadError, UsageError

_HINT = "save it as UTF-8, or name its encoding in the first line: # -*- coding: latin-1 -*-"
_COOKIE = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


def decode(path: str) -> str:
    """The text of a Python file as Python itself would read it.  Raises LoadError."""
    try:
        raw = Path(path).read_bytes()
        _refuse_marks(raw, path)
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror}", where=path) from None
    except (SyntaxError, UnicodeDecodeError) as error:
        raise LoadError(f"cannot be decoded: {error}", where=path, hint=_HINT) from None
    return plain_lines(text.removeprefix("\ufeff"))


def _refuse_marks(raw: bytes, path: str) -> None:
    """Say what Python's own message does not: a byte order mark that it does not read, or that contradicts the file."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise LoadError("is in UTF-16, which Python does not read", where=path, hint="save it as UTF-8")
    named = next((m[1].decode() for line in raw.splitlines()[:2] if (m := _COOKIE.match(line))), "utf-8")
    if raw.startswith(codecs.BOM_UTF8) and named.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig"):
        message = f"names its encoding {named}, but begins with the byte order mark of UTF-8"
        raise LoadError(message, where=path, hint=f"take out the line with `coding: {named}`, or the mark")


def decode_data(path: str) -> str:
    """The text of a plan or a profile.  Raises UsageError."""
    try:
        return plain_lines(Path(path).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=path) from None
    except UnicodeDecodeError:
        raise UsageError("is not text in UTF-8", where=path) from None


def plain_lines(text: str) -> str:
    """Every line ends in \\n, whatever an editor or a checkout made of it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def digest(text: str) -> str:
    """SHA-256 of the text in UTF-8, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
