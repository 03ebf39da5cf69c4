"""What the user asked for."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass

STAGES = ("load", "trace", "graph", "partition", "solve", "schedule")
STRATEGIES = ("none", "sqrt", "rotor", "rockmate", "checkmate", "dtr", "hiremate")
STRATEGY = "hiremate"
TIME_LIMIT_S = 300.0
USUAL = {"--device": "cpu", "--costs": "roofline", "--strategy": STRATEGY, "--time-limit": f"{TIME_LIMIT_S:g}"}

Report = Callable[[str], None]  # takes one line on what is being done now


@dataclass(frozen=True, slots=True)
class Options:
    """One run of the compiler.  `budget` is in bytes (int), or a fraction of eager's peak (float)."""

    model_path: str
    budget_text: str = ""  # as written: "6GiB"
    budget: int | float | None = None  # None only where `dump` stops before it is needed
    output: str = "-"  # empty: nothing is written, as with --explain alone
    model: str | None = None
    inputs: tuple[str, ...] = ()
    device: str = USUAL["--device"]
    costs: str = USUAL["--costs"]  # unit, roofline, or the path of a profile
    strategy: str = STRATEGY  # one of STRATEGIES
    plan: str | None = None  # path of a plan to emit without solving
    save_plan: str | None = None
    dump: str | None = None  # one of STAGES
    check: bool = False
    diff: bool = False
    time_limit_s: float = TIME_LIMIT_S
    verify: bool = True
    force: bool = False
    explain: bool = False
    sweep: bool = False
    report: str | None = None  # path of the page
    cache: bool = True  # keep solved blocks in `cache_folder`

    @property
    def cache_folder(self) -> str | None:
        """Where solved blocks are kept: `HIREMATE_GEN_CACHE`, or the user's folder for caches; None: nowhere."""
        given = os.environ.get("HIREMATE_GEN_CACHE")
        if not self.cache or given == "":
            return None
        root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return given or (os.path.join(root, "hiremate-gen") if os.path.isabs(root) else None)

    @property
    def command(self) -> str:
        """The command line that makes the same file, for its header: paths without folders, or it would differ."""
        words = ["hiremate-gen", os.path.basename(self.model_path), "--budget", self.budget_text]
        if self.model is not None:
            words += ["--model", self.model]
        for text in self.inputs:
            words += ["--inputs", text]
        for flag, value in (("--device", self.device), ("--costs", self.costs), ("--strategy", self.strategy)):
            if value != USUAL[flag]:
                words += [flag, os.path.basename(value)]
        if self.strategy == "checkmate" and self.time_limit_s != TIME_LIMIT_S:  # where it decides what is found
            words += ["--time-limit", f"{self.time_limit_s:g}"]
        if self.plan is not None:
            words += ["--plan", os.path.basename(self.plan)]
        return shlex.join([*words, *(["-o", os.path.basename(self.output)] if self.output else [])])


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """One measurement of a model's ops."""

    model_path: str
    output: str = "-"
    model: str | None = None
    inputs: tuple[str, ...] = ()
    device: str = USUAL["--device"]
    force: bool = False
