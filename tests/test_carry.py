"""Carrying model.py over: what stays, what goes, and where the new parts stand."""

from __future__ import annotations

import ast
import difflib
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import black
import pytest

from hiremate_gen.emit.bindings import bound_names, free_import
from hiremate_gen.emit.carry import HEADER, carry, eager_name
from hiremate_gen.errors import UnsupportedError
from hiremate_gen.ir.source import Planned, SourceFile
from hiremate_gen.load.read import read
from hiremate_gen.load.script import skipped
from hiremate_gen.load.signature import classes, methods, signature
from hiremate_gen.output import FIRST_LINE

NET = '''\
class Net(nn.Module):
    """A net."""

    def __init__(self):
        super().__init__()

    # The step.
    def forward(self, x, *, mask=None):  # trailing
        return x  # kept

    def other(self, x):
        return self.forward(x)
'''
NEW = '''
# How it is planned.
def forward(self, x, *, mask=None):
    """Planned."""
    if not self.training:
        return self.eager_forward(x, mask=mask)
    return step(x)
'''
BEFORE = """
# ---- blocks

def step(x):
    y = x + 1
    del x
    return y


# ---- the step
"""


def source(text: str, tmp_path: Path, name: str = "Net") -> SourceFile:
    path = tmp_path / "model.py"
    path.write_bytes(text.encode())
    found, tree = read(str(path))
    node = [n for q, n in classes(tree) if q == name][-1]
    forward = methods(node, "forward")
    plan = Planned(name, node.lineno, signature(forward[-1])) if forward else None
    return replace(found, path="model.py", skipped=skipped(tree, found.text), planned=plan)


def carried(text: str, tmp_path: Path, name: str = "Net", imports: tuple[str, ...] = (), new: str = NEW) -> str:
    result = carry(
        source(text, tmp_path, name), forward=new, before=BEFORE, header=HEADER + "\n#\n# x", imports=imports
    )
    ast.parse(result)
    mode = black.Mode(line_length=88, target_versions={black.TargetVersion.PY311})
    formatted = black.format_str(result, mode=mode)
    assert black.format_str(formatted, mode=mode) == formatted
    assert formatted.startswith(f"{HEADER}\n#\n# x\n")
    return formatted


def test_header_is_what_output_recognises() -> None:
    assert HEADER == FIRST_LINE


def test_the_whole_file(tmp_path: Path) -> None:
    text = f'''\
#!/usr/bin/env python3
# -*- coding: utf-8 -*-

# Copyright someone.
"""Models."""
from __future__ import annotations

import math  # for pi

from torch import nn

from . import layers


@register("net")
# A comment between.
{NET}

def example_inputs():
    return (1,)


if __name__ == "__main__":
    train()
# The end.
'''
    assert (
        carried(text, tmp_path, imports=("import torch",))
        == f'''\
{HEADER}
#
# x

# Copyright someone.
"""Models."""

from __future__ import annotations

import math  # for pi

import torch
from torch import nn

from . import layers

# ---- blocks


def step(x):
    y = x + 1
    del x
    return y


# ---- the step


@register("net")
# A comment between.
class Net(nn.Module):
    """A net."""

    def __init__(self):
        super().__init__()

    # The step.
    def eager_forward(self, x, *, mask=None):  # trailing
        return x  # kept

    # How it is planned.
    def forward(self, x, *, mask=None):
        """Planned."""
        if not self.training:
            return self.eager_forward(x, mask=mask)
        return step(x)

    def other(self, x):
        return self.forward(x)


def example_inputs():
    return (1,)


# The end.
'''
    )


def same(text: str, tmp_path: Path) -> None:
    """The result does what the class of `text` does: everything but the new parts is equal as a tree."""
    result = ast.parse(carried(text, tmp_path))
    for node in ast.walk(result):
        if isinstance(node, ast.ClassDef):
            node.body = [n for n in node.body if getattr(n, "name", "") != "forward" or node.name != "Net"]
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name == "eager_forward":
                    item.name = "forward"
    result.body = [n for n in result.body if getattr(n, "name", "") != "step"]
    assert ast.dump(result) == ast.dump(ast.parse(text.replace("\r\n", "\n")))


@pytest.mark.parametrize(
    "text",
    [
        NET,
        NET.replace("\n", "\r\n"),
        NET.replace("    ", "\t"),
        NET.replace("    ", "  "),
        "x = 1; y = 2;\n" + NET,
        "naïve = lambda_ = input = None\n" + NET.replace("x", "naïve"),
        "if True:\n" + "".join(f"    {line}\n" if line else "\n" for line in NET.splitlines()),
        "\ufeff" + NET,
        NET + "\n\nclass Other(nn.Module):\n    def forward(self):\n        return Net.forward(self)\n",
        NET.replace("    def other", "    @property\n    def z(self):\n        def forward(): pass\n\n    def other"),
    ],
)  # fmt: skip
def test_everything_else_stays(text: str, tmp_path: Path) -> None:
    same(text.lstrip("\ufeff"), tmp_path) if not text.startswith("\ufeff") else carried(text, tmp_path)


def test_nested_and_repeated_classes(tmp_path: Path) -> None:
    text = dedent("""\
        class Outer:
            class Net:
                def forward(self):
                    return 1

        class Net:
            def forward(self):
                return 2

        def make():
            class Net:
                def forward(self):
                    return 3
            return Net

        class Net:
            def forward(self):
                return 4
        """)
    for name, number in (("Outer.Net", 1), ("make.<locals>.Net", 3), ("Net", 4)):
        result = carried(text, tmp_path, name)
        assert result.count("def eager_forward") == 1 and result.count("def step") == 1
        before, _, after = result.partition("def eager_forward(self):")
        assert after.split()[:2] == ["return", str(number)]
        assert "def step" in before


def test_overloads_and_conditional_definitions(tmp_path: Path) -> None:
    text = dedent("""\
        class Net:
            @overload
            def forward(self, x: int) -> int: ...
            @no_grad()
            def forward(self, x):
                return x
            if FAST:
                def forward(self, x):
                    return 2 * x
            call = forward
        """)
    result = carried(text, tmp_path)
    assert result.count("def eager_forward(") == 3 and result.count("def forward(") == 1
    assert result.index("return 2 * x") < result.index("def forward(") < result.index("call = forward")
    assert "@overload\n    def eager_forward" in result


def test_script_statements_and_semicolons_go(tmp_path: Path) -> None:
    text = (
        "import a; train(); b = 1\n"
        + NET
        + dedent("""\
        if __name__ == "__main__":
            train()
        LAST = 3
        net = Net()
        train(net)
        while True: pass
        """)
    )
    text = "def train(*a):\n    a[0].backward()\n" + text
    result = carried(text, tmp_path)
    assert "import a\n" in result and "b = 1\n" in result and "LAST = 3\n" in result
    for gone in ("train()", "__main__", "net = ", "while"):
        assert gone not in result
    library = carried("import a\n" + NET + "net = Net()\n", tmp_path)
    assert library.endswith("net = Net()\n")


def test_docstring_and_future_stay_first(tmp_path: Path) -> None:
    for start in ("from __future__ import annotations\n", "'''Doc.'''\n", "'''Doc.'''; import b\n", ""):
        result = carried(start + NET, tmp_path, imports=("import torch", "import torch.nn.functional as F"))
        compile(result, "x", "exec")
        assert ast.get_docstring(ast.parse(result)) == ("Doc." if "Doc" in start else None)
        assert "import torch\nimport torch.nn.functional as F\n" in result


def test_imports_join_their_package(tmp_path: Path) -> None:
    text = "import os\n\nimport numpy as np\nimport torch\nfrom torch import nn\n\nimport mine\n" + NET
    wanted = ("from torch.autograd.function import once_differentiable", "import torch.nn.functional as F")
    assert carried(text, tmp_path, imports=wanted)[len(HEADER) + 7 :].startswith("""
import os

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.function import once_differentiable

import mine
""")


@pytest.mark.parametrize(
    ("text", "statement", "name", "added"),
    [
        ("import torch\n", "import torch", "torch", None),
        ("import torch.nn as nn\n", "import torch", "torch", "import torch"),
        ("import torch.nn\n", "import torch", "torch", None),
        ("import numpy as torch\n", "import torch", "torch_", "import torch as torch_"),
        ("import torch\n\ndef f(torch): pass\n", "import torch", "torch", None),
        ("import torch\ntorch = 3\n", "import torch", "torch_", "import torch as torch_"),
        ("import torch\ndef f():\n    global torch\n", "import torch", "torch_", "import torch as torch_"),
        ("def f(torch): pass\ntorch_ = 1\n", "import torch", "torch__", "import torch as torch__"),
        ("from torch.nn import functional as F\n", "import torch.nn.functional as F", "F", None),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None\n", "import torch", "torch_",
         "import torch as torch_"),
        ("F = 'x'\n", "import torch.nn.functional as F", "F_", "import torch.nn.functional as F_"),
        ("once_differentiable = 1\n", "from torch.autograd.function import once_differentiable",
         "once_differentiable_", "from torch.autograd.function import once_differentiable as once_differentiable_"),
    ],
)  # fmt: skip
def test_imports_are_shared_only_when_they_mean_the_same(
    text: str, statement: str, name: str, added: str | None, tmp_path: Path
) -> None:
    assert free_import(source(text + NET.replace("nn.Module", "object"), tmp_path), statement) == (name, added)


def test_an_import_below_the_class_is_too_late(tmp_path: Path) -> None:
    text = NET.replace("nn.Module", "object") + "import torch\n"
    assert free_import(source(text, tmp_path), "import torch") == ("torch_", "import torch as torch_")


def test_bound_names(tmp_path: Path) -> None:
    text = "import a.b, c as d\nfrom e import f as g\nimport h\nfor i in j: pass\n" + NET.replace("x", "naïve")
    text += "def k(l, *m, **n):\n    global o\n    try: pass\n    except p as q: pass\n    with r as (s, t): pass\n"
    text += "    match l:\n        case [u, *v] if (w := u): pass\n        case {'y': 1, **z}: pass\n"
    text += "    return lambda z1: z2\n"
    found = bound_names(replace(source(text, tmp_path), star_names=("star",)))
    wanted = {*"adghijklmnopqrstuvwz", "naïve", "z1", "z2", "Net", "nn", "forward", "super", "star"}
    assert wanted <= found and not found & {"b", "c", "e", "f", "y"}


def test_eager_name_avoids_the_users(tmp_path: Path) -> None:
    assert eager_name(source(NET, tmp_path)) == "eager_forward"
    text = NET.replace("def other", "def eager_forward")
    assert eager_name(source(text, tmp_path)) == "eager_forward_"
    assert "def eager_forward_(self, x, *, mask=None):" in carried(text, tmp_path)


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="no class of this file is planned"):
        carried("class Net:\n    forward = f\n", tmp_path)
    found = source(NET, tmp_path)
    assert found.planned is not None
    with pytest.raises(UnsupportedError, match="Gone has no forward of its own"):
        carry(replace(found, planned=replace(found.planned, qualname="Gone")), forward=NEW, before="", header=HEADER)
    with pytest.raises(ValueError, match="not a comment"):
        carry(found, forward=NEW, before="", header="import os")


def test_the_difference_is_the_new_code_alone(tmp_path: Path) -> None:
    """No line of the user's goes or changes but the name of forward and the block that trains."""
    text = f'''\
"""Doc."""
from __future__ import annotations
import math; import torch   # both
from .layers import (a,
    b)   # odd

X = {{'a':1,
      "b" : 2}}
@wrap( "net" )
{NET}
def f( x ):   # spaced
  return  x


if __name__ == "__main__":
    train()
'''
    found = source(text, tmp_path)
    result = carry(found, forward=NEW, before=BEFORE, header=HEADER, imports=("import hashlib",))
    rows = list(difflib.unified_diff(text.splitlines(), result.splitlines(), lineterm="", n=0))[2:]
    gone = [row[1:].strip() for row in rows if row.startswith("-")]
    assert [row for row in gone if row] == [
        "def forward(self, x, *, mask=None):  # trailing",
        'if __name__ == "__main__":',
        "train()",
    ]
    ours = {line.strip() for part in (NEW, BEFORE, HEADER, "import hashlib") for line in part.splitlines()}
    came = {row[1:].strip() for row in rows if row.startswith("+")}
    assert came - ours == {"def eager_forward(self, x, *, mask=None):  # trailing"}
