"""A stage imports the shared types and itself; heavy packages stay in the stages that need them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "hiremate_gen"
SHARED = {"ir", "errors", "units", "config"}
STAGES = {"load", "trace", "graph", "partition", "solve", "schedule", "emit", "verify", "report"}
ONLY_IN = {
    "torch": {"load", "trace", "graph", "verify"},
    "cvxpy": {"solve"},
    "jinja2": {"emit", "report"},
    "black": {"emit"},
    "libcst": {"load", "emit"},
    "click": {"cli", "commands"},
}
FILES = sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found |= {f"{node.module}.{a.name}" for a in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_the_law(path: Path) -> None:
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for name in imported(path):
        package, _, rest = name.partition(".")
        assert part in ONLY_IN.get(package, {part}), f"{package} in {part}"
        used = rest.partition(".")[0]
        if package != "hiremate_gen" or used in SHARED or used == part:
            continue
        assert part not in SHARED | STAGES, f"{part} imports {used}"
        if used in STAGES:
            assert part == "pipeline", f"{part} imports the stage {used}"
        if used == "pipeline":
            assert part in ("cli", "__init__"), f"{part} imports pipeline"


def test_help_is_quick() -> None:
    code = (
        "import sys, hiremate_gen.cli as c\n"
        "try: c.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'torch', 'cvxpy', 'libcst', 'black', 'numpy', 'rich'} & set(sys.modules)))"
    )
    root = str(PACKAGE.parent)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
