"""Whether a generated file still belongs to what it was made from, told from its header in milliseconds.

The header names the sources with their digests, the command and torch's version; one line more, the seal, digests
what the header does not show, and the text itself:

    # seal      v1-<made from: command, torch, sources, plan, profile>-<the text without its seal>

Nothing is imported that traces or solves.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from hiremate_gen.config import USUAL, Options
from hiremate_gen.ir.decode import decode, digest
from hiremate_gen.output import FIRST_LINE, read

ALGORITHM = 2  # raise it when files that earlier versions wrote should be written again
OPEN = f"v{ALGORITHM}-{'0' * 12}-{'0' * 12}"  # stands in the header until the text is whole
_SEAL = re.compile(r"^# seal +(?P<seal>v(?P<version>\d+)-(?P<made>[0-9a-f]{12})-(?P<text>[0-9a-f]{12}))$", re.M)
_SOURCE = re.compile(r"^# (?:source)? +(\S.*?)\s+(?:# +)?sha256:([0-9a-f]{16})$", re.M)
_COMMAND = re.compile(r"^# (hiremate-gen .*)$", re.M)
_TORCH = re.compile(r"^# device .*\btorch ([\d.]+)", re.M)


def close(text: str, options: Options, torch: str, sources: Sequence[str]) -> str:
    """`text` with its seal in the place of `OPEN`.  `sources` are digests: model.py first, then what it imports."""
    made = _made_from(options, torch, [s[:16] for s in sources])
    return text.replace(OPEN, f"v{ALGORITHM}-{made}-{_short(text.replace(OPEN, '', 1))}", 1)


def outdated(options: Options) -> tuple[str, ...]:
    """Why the output is not what `options` would write, for people; nothing when it is.

    Raises LoadError when a source cannot be read.
    """
    if not os.path.isfile(options.output):
        return ("it does not exist",)
    text = read(options.output)
    header = _header(text)
    found = _SEAL.search(header)
    if not text.startswith(FIRST_LINE):
        return ("it was not written by hiremate-gen",)
    if found is None or int(found["version"]) != ALGORITHM:
        return ("it was written by another version of hiremate-gen",)
    reasons = [*_changed_sources(options, header)]
    if found["made"] != _made_from(options, installed_torch(), [s for _, s in _SOURCE.findall(header)]):
        reasons += [*_changed_options(options, header)] or ([] if reasons else [_changed_files(options)])
    if found["text"] != _short(text.replace(found["seal"], "", 1)):
        reasons.append("it was edited by hand")
    return tuple(reasons)


def _changed_sources(options: Options, header: str) -> Iterator[str]:
    sources = _SOURCE.findall(header)
    if [name for name, _ in sources[:1]] != [os.path.basename(options.model_path)]:
        yield f"it was not made from {options.model_path}"
        return
    folder = os.path.dirname(options.model_path)
    paths = [options.model_path, *(os.path.normpath(os.path.join(folder, name)) for name, _ in sources[1:])]
    for path, (_, before) in zip(paths, sources, strict=True):
        if not os.path.isfile(path):
            yield f"{path}, which {options.model_path} imported, is gone"
        elif digest(decode(path))[:16] != before:
            yield f"{path} has changed"


def _changed_options(options: Options, header: str) -> Iterator[str]:
    """What the header tells of why it was made otherwise."""
    made = _COMMAND.search(re.sub(r" \\\n# +", " ", header))
    if made is None or made[1] != options.command:
        yield f"it was made with other options{_other_options(made[1] if made else '', options.command)}"
    torch = _TORCH.search(header)
    if torch is not None and torch[1] != installed_torch():
        yield f"it was made with torch {torch[1]}, and here is {installed_torch() or 'none'}"


def _other_options(made: str, here: str) -> str:
    """` (--budget 60%, here 70%)`: what tells two command lines apart; empty when the header's cannot be read."""
    try:
        before, now = _flags(made), _flags(here)
    except ValueError:
        return ""
    parts = [
        f"{flag} {_value(before, flag)}, here {_value(now, flag)}"
        for flag in dict.fromkeys([*before, *now])
        if before.get(flag) != now.get(flag)
    ]
    return f" ({'; '.join(parts)})" if parts else ""


def _flags(command: str) -> dict[str, tuple[str, ...]]:
    """Values by flag; each flag of a recorded command has one value, and some stand there several times."""
    _, _, *words = shlex.split(command)
    found: dict[str, tuple[str, ...]] = {}
    for flag, value in zip(words[::2], words[1::2], strict=True):
        found[flag] = (*found.get(flag, ()), value)
    return found


def _value(flags: Mapping[str, tuple[str, ...]], flag: str) -> str:
    """As it would be typed; what a command leaves out has its default, or none."""
    return " ".join(map(shlex.quote, flags[flag])) if flag in flags else USUAL.get(flag, "not given")


def _changed_files(options: Options) -> str:
    files = [f for f in (options.plan, options.costs) if f is not None and os.path.isfile(f)]
    return f"{' or '.join(files) or 'what it was made from'} has changed"


def installed_torch() -> str:
    """Its version, major.minor, without importing it; empty where there is none."""
    try:
        return ".".join(version("torch").split(".")[:2])
    except PackageNotFoundError:
        return ""


def _header(text: str) -> str:
    """The comment lines at the top."""
    found = re.match(r"(?:#.*\n)*", text)
    return found[0] if found else ""


def _made_from(options: Options, torch: str, sources: Sequence[str]) -> str:
    files = [_content(options.plan), _content(options.costs)]
    return _short(json.dumps([ALGORITHM, options.command, torch, list(sources), files]))


def _content(path: str | None) -> str:
    """A plan's or profile's digest; the name itself where it is no file ("roofline")."""
    if path is None or not os.path.isfile(path):
        return path or ""
    return digest(read(path))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]
