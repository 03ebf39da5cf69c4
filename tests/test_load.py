"""Loading: which statements run, what is built, and where the fault is said to be."""

from __future__ import annotations

import inspect
import json
import pickle
import random
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from hiremate_gen.errors import HiremateError, LoadError, UnsupportedError
from hiremate_gen.load import Loaded, LoadRequest, load
from hiremate_gen.load.convert import replacing

HEAD = "import torch\nfrom torch import nn\n"
NET = """
class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        return self.fc(x).mean()
"""
INPUTS = """
def example_inputs():
    return torch.randn(4, 8)
"""


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes model.py (and other files) and loads it, as from its own folder."""
    monkeypatch.chdir(tmp_path)

    def run(text: str, files: dict[str, str] | None = None, path: str = "model.py", **request: Any) -> Loaded:
        for name, content in {path: text, **(files or {})}.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(dedent(content), "utf-8")
        return load(LoadRequest(path, **request))

    return run


def fails(
    loads: Any, text: str, words: str, where: str = "", kind: type[HiremateError] = LoadError, **more: Any
) -> str:
    with pytest.raises(kind) as caught:
        loads(text, **more)
    assert words in str(caught.value)
    assert caught.value.where.startswith(where), caught.value.where
    return str(caught.value)


# ---- what is built


def test_fake_and_real(loads: Any) -> None:
    before = torch.get_rng_state(), random.getstate(), list(sys.path), sys.argv
    loaded = loads(HEAD + NET + INPUTS)
    assert loaded.model.training and loaded.input_names == ("x",) and loaded.kwargs == {} and not loaded.notes
    assert all(isinstance(p, FakeTensor) and p.fake_mode is loaded.fake_mode for p in loaded.model.parameters())
    assert isinstance(loaded.args[0], FakeTensor) and loaded.args[0].fake_mode is loaded.fake_mode
    one, two, other = loaded.build_real(1), loaded.build_real(1), loaded.build_real(2)
    assert one.model is not two.model and torch.equal(one.model.fc.weight, two.model.fc.weight)
    assert torch.equal(one.args[0], two.args[0]) and not torch.equal(one.args[0], other.args[0])
    assert loads(HEAD + NET + INPUTS, fake=False).fake_mode is None
    after = torch.get_rng_state(), random.getstate(), list(sys.path), sys.argv
    assert torch.equal(before[0], after[0]) and before[1:] == after[1:]


def test_a_large_model_takes_no_memory(loads: Any) -> None:
    text = HEAD + NET.replace("width=8", "width=100_000")
    started = time.monotonic()
    loaded = loads(text, inputs=("torch.randn(2, 100_000)",))
    assert sum(p.numel() for p in loaded.model.parameters()) > 10**10  # 40 GB
    assert time.monotonic() - started < 20


def test_values_in_the_constructor_need_no_real_memory(loads: Any) -> None:
    rates = "self.rates = [r.item() for r in torch.linspace(0, 0.1, 3)]"
    table = "self.register_buffer('table', torch.from_numpy(np.arange(3.0)))"
    text = "import numpy as np\n" + HEAD + NET.replace("super().__init__()", f"super().__init__(); {rates}; {table}")
    loaded = loads(text + INPUTS)
    assert loaded.fake_mode is not None and isinstance(loaded.model.table, FakeTensor)
    assert loaded.model.rates == pytest.approx([0, 0.05, 0.1])


def test_real_memory_where_nothing_else_works(loads: Any) -> None:
    text = HEAD + NET.replace("super().__init__()", "super().__init__(); self.first = torch.randn(1).item()") + INPUTS
    loaded = loads(text)
    assert loaded.fake_mode is None and "model.py:6:" in loaded.notes[0]
    assert not isinstance(loaded.args[0], FakeTensor)


def test_inputs_that_read_values(loads: Any) -> None:
    text = HEAD + NET + "def example_inputs():\n    return torch.randn(int(torch.randint(3, 4, (1,)).max()), 8)\n"
    loaded = loads(text)
    assert isinstance(loaded.args[0], FakeTensor) and loaded.args[0].shape == (3, 8)


def test_parameters_stay_as_the_constructor_made_them(loads: Any) -> None:
    more = "self.tied = self.fc; self.fc.bias.requires_grad_(False); self.eval_()"
    text = HEAD + NET.replace("nn.Linear(width, width)", f"nn.Linear(width, width); {more}")
    text += "    def eval_(self): self.fc.eval()\n"
    loaded = loads(text + INPUTS)
    assert loaded.model.tied is loaded.model.fc and len(list(loaded.model.parameters())) == 2
    assert not loaded.model.fc.bias.requires_grad and loaded.model.fc.weight.requires_grad
    assert loaded.model.fc.training


def test_a_model_made_at_import_is_not_shared(loads: Any) -> None:
    loaded = loads(HEAD + NET + "net = Net()\n" + INPUTS, model="net")
    assert loaded.fake_mode is not None and isinstance(loaded.model.fc.weight, FakeTensor)
    assert loaded.build_real().model is not loaded.build_real().model


def test_keywords_nested_inputs_and_their_names(loads: Any) -> None:
    text = HEAD + NET.replace("self, x", "self, x, *rest, batch=None, scale=1.0, **other")
    flags = ("torch.ones(4, 8)", "torch.ones(1)", "more=torch.ones(2)", "scale=2.0")
    nested = 'batch={"mask": torch.ones(3, dtype=torch.bool), "ids": [torch.zeros(2)]}'
    loaded = loads(text, inputs=(*flags, nested))
    assert loaded.input_names == ("x", "rest.0", "batch.mask", "batch.ids.0", "more")
    assert list(loaded.kwargs) == ["batch", "scale", "more"] and loaded.kwargs["scale"] == 2.0
    loaded = loads(HEAD + NET + "def example_inputs():\n    return {'x': torch.ones(4, 8)}\n")
    assert loaded.args == () and loaded.input_names == ("x",)


def test_conversions_keep_ties_and_frozen_parameters() -> None:
    with FakeTensorMode(allow_non_fake_inputs=True), replacing():
        model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))
        model[1].weight = model[0].weight
        model[0].bias.requires_grad_(False)
        model.double().to("meta")
    assert {t.device.type for t in [*model.parameters(), *model.buffers()]} == {"meta"}
    assert {t.dtype for t in model.parameters()} == {torch.float64}
    assert model[1].weight is model[0].weight and isinstance(model[0].weight, torch.nn.Parameter)
    assert [p.requires_grad for p in model[0].parameters()] == [True, False]


def test_build_model_and_flags_come_before_the_root_class(loads: Any) -> None:
    text = HEAD + NET + INPUTS + "def build_model():\n    return Net(8)\n"
    assert loads(text).model_expr == "build_model()"
    loaded = loads(text, model="Net(width=3)", inputs=("torch.ones(2, 3)",))
    assert loaded.model.fc.in_features == 3 and loaded.inputs_exprs == ("torch.ones(2, 3)",)


def test_another_text_in_the_same_place(loads: Any) -> None:
    loaded = loads(HEAD + "from layers import make\n" + NET + INPUTS, {"layers.py": "make = 1\n"})
    built = loaded.build_from(loaded.source.text.replace("mean()", "sum()"), seed=5)
    same = loaded.build_real(5)
    assert "mean()" in inspect.getsource(type(same.model).forward)
    assert "sum()" in inspect.getsource(type(built.model).forward)
    assert torch.equal(built.model.fc.weight, same.model.fc.weight) and torch.equal(built.args[0], same.args[0])
    assert built.model(*built.args).item() == pytest.approx(4 * 8 * same.model(*same.args).item(), rel=1e-4)


def test_the_root_is_what_no_other_class_uses(loads: Any) -> None:
    text = """
    class Part(nn.Module):
        def forward(self, x):
            Net = x
            return Net

    def make():
        return Part()

    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = make()
    """
    text = HEAD + dedent(text) + NET.replace("nn.Module", "Base") + INPUTS
    text += "class Double(torch.autograd.Function): ...\n"
    assert loads(text).model_expr == "Net()"
    handed = "\nclass Wrap(nn.Module):\n    def __init__(self, kind=None):\n        super().__init__()\n"
    handed += "    def forward(self, x):\n        return x\ndef build():\n    return Wrap(Net)\n"
    assert loads(text + handed).model_expr == "Wrap()"


def test_a_part_used_in_a_comprehension_is_no_root(loads: Any) -> None:
    text = """
    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.fc = nn.Linear(width, width)

        def forward(self, x):
            return self.fc(x)

    class Net(nn.Module):
        def __init__(self, width=8, depth=2):
            super().__init__()
            self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x.mean()
    """
    main = "\nif __name__ == '__main__':\n    net = Net()\n    block = Block(8)\n"
    assert loads(HEAD + dedent(text) + INPUTS + main).model_expr == "Net()"


def test_dump_is_stable(loads: Any) -> None:
    text = loads(HEAD + NET + INPUTS + "train = 1\nfor x in open('f'): print(x)\n").text()
    assert "x: float32[4, 8]" in text and "class  Net(self, x)" in text and "/" not in text
    assert "not run    line 15: for x in open('f'): print(x)" in text


# ---- imports


def test_siblings_packages_and_names(loads: Any, tmp_path: Path) -> None:
    loaded = loads("from layers import width\n" + HEAD + NET + INPUTS, {"layers.py": "width = 1\n"})
    assert inspect.getsource(type(loaded.model)).startswith("class Net") and type(loaded.model).__module__ == "model"
    assert pickle.loads(pickle.dumps(type(loaded.model))) is type(loaded.model)
    files = {"pkg/__init__.py": "from .net import Net\n", "pkg/layers.py": "from torch.nn import Linear\n"}
    text = "from .layers import Linear\n" + HEAD + NET.replace("nn.Linear", "Linear") + INPUTS
    loaded = loads(text, files, path="pkg/net.py")
    assert type(loaded.model).__module__ == "pkg.net" and str(tmp_path) not in sys.path
    loaded = loads(text, {"bare/layers.py": "from torch.nn import Linear\n"}, path="bare/net.py")
    assert type(loaded.model).__module__ == "bare.net"


def test_a_broken_package_does_not_matter_to_a_file_without_need_of_it(loads: Any) -> None:
    assert loads(HEAD + NET + INPUTS, {"lib/__init__.py": "import nothing_of_that_name\n"}, path="lib/net.py")


def test_an_earlier_folder_does_not_show_through(loads: Any) -> None:
    for width in (3, 5):
        folder = f"f{width}"
        text = HEAD + "from sizes import width\n" + NET.replace("=8", "=width")
        files = {f"{folder}/sizes.py": f"width = {width}\n"}
        loaded = loads(text, files, path=f"{folder}/model.py", inputs=(f"torch.ones(2, {width})",))
        assert loaded.model.fc.in_features == width


def test_a_file_named_like_a_library_hides_nothing(loads: Any) -> None:
    loads(HEAD + NET + INPUTS, path="json.py")
    assert json.loads("1") == 1 and sys.modules["json"] is json
    loads(HEAD + NET + INPUTS, path="torch.py")
    assert sys.modules["torch"] is torch


def test_dataclasses_and_future_annotations(loads: Any) -> None:
    text = "'''Doc.'''\nfrom __future__ import annotations\nfrom dataclasses import dataclass\n" + HEAD
    text += "@dataclass\nclass Config:\n    width: int = 8\n" + NET + INPUTS
    assert loads(text, model="Net(Config().width)").model.fc.in_features == 8


# ---- scripts


@pytest.mark.parametrize(
    "statement",
    [
        "while True: pass",
        "main()",
        "from trainer import main as work; work()",
        "import trainer; trainer.main()",
        "sys.exit(len(harmless()))",
        "sys.exit(main())",
        "for epoch in range(9):\n    boom()",
        "with torch.no_grad():\n    boom()",
        "try:\n    main()\nfinally:\n    boom()",
        "if torch.tensor(1) > 0:\n    boom()",
        "net = Net().cuda()",
        "data = torch.load('missing.pt')\nfirst = data[0]\nprint(first)",
        "data = torch.utils.data.DataLoader(boom())\nnet = Net()\nopt = torch.optim.SGD(net.parameters())\nopt.step()",
        "history = main()",
        "Net()(torch.ones(4, 8)).backward()",
        "if __name__ == '__main__': boom()",
        "if '__main__' == __name__:\n    boom()\n",
    ],
)
def test_training_never_runs(loads: Any, statement: str) -> None:
    text = f"import sys\n{HEAD}{NET}\ndef boom():\n    raise AssertionError\n\ndef main():\n    boom().backward()\n\n"
    text += "def harmless():\n    boom()\n"
    files = {"trainer.py": "def main():\n    raise AssertionError\n"}
    loaded = loads(f"{text}{statement}\n{INPUTS}", files, import_limit_s=20.0)
    assert loaded.source.skipped and loaded.model_expr == "Net()"
    assert loaded.build_from(loaded.source.text).model.training


def test_what_the_model_needs_runs(loads: Any) -> None:
    text = f"""
    import argparse, logging, sys
    {HEAD.replace(chr(10), chr(10) + "    ")}
    torch.manual_seed(0)
    sys.path.append("elsewhere")
    logger = logging.getLogger(__name__)
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=8)
    args = parser.parse_args()
    CONFIG = {{}}
    CONFIG["width"] = args.width
    for name in ("depth",):
        CONFIG[name] = 2
    try:
        import flash_attention_of_no_one
    except ImportError:
        flash = None
    WIDTHS = [n * CONFIG["width"] for n in range(3)]
    def table(): return WIDTHS[1]
    SIZE = table()
    """
    loaded = loads(dedent(text) + NET.replace("width=8", "width=SIZE") + INPUTS + "while True: print()\n")
    assert [s.text for s in loaded.source.skipped] == ["while True: print()"]


def test_a_library_runs_whole_but_builds_no_model(loads: Any) -> None:
    text = HEAD + NET + INPUTS + "def make(): return 1\nDEFAULT = make()\nnet = Net(10**7)\n"
    [skipped] = loads(text).source.skipped
    assert skipped.names == ("net",) and skipped.carried
    with_loop = loads(text + "while True: pass\n").source.skipped
    assert [s.names for s in with_loop] == [("DEFAULT",), ("net",), ()] and not any(s.carried for s in with_loop)


def test_a_name_that_was_not_bound_is_explained(loads: Any) -> None:
    text = HEAD + NET.replace("=8", "=width")
    said = fails(loads, "width = input().step()\n" + text + INPUTS, "Net is not defined", "model.py:5:1")
    assert "needs what line 1 sets" in said
    text = HEAD + NET + "batch = Net().fit()\ndef example_inputs():\n    return batch\n"
    assert "model.py:11 sets it" in fails(loads, text, "batch is not defined", "model.py:13:12")
    said = fails(loads, HEAD + NET + "net = Net().fit()\n" + INPUTS, "net is not defined", model="net")
    assert "which trains" in said


def test_a_sibling_that_never_ends_is_stopped(loads: Any) -> None:
    text = "import trainer\n" + HEAD + NET + INPUTS
    files = {"trainer.py": "import time\nwhile True:\n    try:\n        time.sleep(9)\n    except Exception: pass\n"}
    started = time.monotonic()
    said = fails(loads, text, "takes more than 0.5 s", "model.py:1:1", files=files, import_limit_s=0.5)
    assert "__main__" in said and time.monotonic() - started < 8


def test_prints_and_arguments(loads: Any, capsys: pytest.CaptureFixture[str]) -> None:
    loads(HEAD + "import sys\nprint('hello', len(sys.argv))\n" + NET + INPUTS)
    assert capsys.readouterr() == ("", "hello 1\n")


# ---- faults


@pytest.mark.parametrize(
    ("text", "words", "where"),
    [
        (HEAD + "class Net(nn.Module)\n  pass\n", "syntax error: expected ':'", "model.py:3:21"),
        (HEAD + "import sibling\n" + NET, "syntax error", "sibling.py:1:5"),
        ("import nn_of_no_one.deep\n", "cannot import nn_of_no_one", "model.py:1:1"),
        (HEAD + "from torch import no_such_thing\n" + NET, "ImportError: cannot import name", "model.py:3:1"),
        (HEAD + "x = 1 / 0\n" + NET, "ZeroDivisionError: division by zero, while importing", "model.py:3:5"),
        (HEAD + "class Net: pass\n", "no class in this file is an nn.Module", "model.py"),
        (HEAD + NET, "the inputs of the model are missing", "model.py"),
        (HEAD + NET + "def example_inputs(): return None\n", "returns None, not a tuple", "model.py:11:1"),
        (HEAD + NET + "def example_inputs(): return 1, 2\n", "too many positional arguments", "model.py"),
        (HEAD + NET.replace("width=8", "width"), "constructor of Net needs width", "model.py:4:1"),
        (HEAD + NET.replace("self.fc =", "oops ="), "KeyError: 'x'", "model.py:12:"),
        (HEAD + NET + "def build_model(): return Net\n", "is a type, not an nn.Module", "model.py"),
        (HEAD + "import sys\nsys.exit(3)\n" + NET, "inputs of the model are missing", "model.py"),
        (HEAD + "if True: raise SystemExit\n" + NET, "ends the program while importing", "model.py:3:10"),
    ],
)
def test_faults(loads: Any, text: str, words: str, where: str) -> None:
    if "KeyError" in words:
        text += "def example_inputs():\n    return {}['x']\n"
    fails(loads, text, words, where, files={"sibling.py": "a = = 1\n"})


@pytest.mark.parametrize(
    ("request_", "words", "where"),
    [
        ({"model": "Net(8"}, "'(' was never closed", "--model:1:4"),
        ({"model": "Net(8); 1"}, "invalid syntax", "--model:1:7"),
        ({"model": "Neet(8)"}, "NameError: name 'Neet' is not defined", "--model"),
        ({"inputs": ("torch.randn(2, 8)", "x=", )}, "not a Python expression", "--inputs #2:1:"),
        ({"inputs": ("torch.randn(2, 8), 1",)}, "is not one input", "--inputs #1"),
        ({"inputs": ("*[1]",)}, "is not one input", "--inputs #1"),
        ({"inputs": ("x=1", "x=2")}, "x is given twice", "--inputs #2"),
        ({"inputs": ("y=1",)}, "missing a required argument: 'x'", "model.py"),
        ({"device": "cuda"}, "no CUDA device", "--device"),
        ({"device": "tpu9"}, "", "--device"),
    ],
)  # fmt: skip
def test_bad_flags(
    loads: Any, request_: dict[str, Any], words: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    fails(loads, HEAD + NET + INPUTS, words, where, **request_)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("nn.Linear(8, 8)", "Linear, which is not defined in this file"),
        ("Sub()", "no forward of its own: it comes from Net"),
        ("type('Made', (Net,), {'forward': Net.forward, '__module__': __name__})()", "made by a call"),
        ("patched()", "forward is replaced on the model"),
        ("Assigned()", "has no forward of its own"),
    ],
)
def test_classes_that_cannot_be_rewritten(loads: Any, model: str, words: str) -> None:
    text = HEAD + NET + INPUTS + "class Sub(Net):\n    pass\n"
    text += "class Assigned(Net):\n    forward = Net.forward\n"
    text += "def patched():\n    net = Net()\n    net.forward = lambda x: x.mean()\n    return net\n"
    fails(loads, text, words, kind=UnsupportedError, model=model)


def test_not_text(loads: Any, tmp_path: Path) -> None:
    Path("bytes.py").write_bytes(b"x = '\xff'\n")
    with pytest.raises(LoadError, match="cannot be decoded"):
        load(LoadRequest("bytes.py"))
    Path("null.py").write_bytes(b"x = 1\0\n")
    with pytest.raises(LoadError, match="null bytes"):
        load(LoadRequest("null.py"))
    with pytest.raises(LoadError, match="cannot be read"):
        load(LoadRequest("nowhere.py"))


# ---- source positions


def test_statements(loads: Any) -> None:
    text = HEAD + NET.replace("return self.fc(x).mean()", "")
    body = """\
    q, (k, *v) = x, (x, x)
    w = y = self.fc(
        x
    )
    self.last = q; z = k
    for a, b in zip(
        [q], [k]
    ):
        w += a
    if (c := w.sum()) is not None:
        q[:, 0] = c
    with torch.no_grad() as g:
        pass
    u: int = 3
    return (
        w.mean()
    )
"""
    source = loads(text + "".join(f"    {line}\n" for line in body.splitlines()) + INPUTS).source
    first = source.text.split("\n").index("        q, (k, *v) = x, (x, x)") + 1
    found = [source.statement_at(first + i) for i in range(16)]
    assert [s.targets if s else None for s in found] == [
        ("q", "k", "v"), ("w",), ("w",), ("w",), (), ("a", "b"), ("a", "b"), ("a", "b"), ("w",), (), ("q",), ("g",),
        (), ("u",), (), (),
    ]  # fmt: skip
    assert found[2].text == "w = y = self.fc(" and found[2].line == first + 1
    assert found[4].text == "self.last = q; z = k"
    assert source.statement_at(first - 4) is not None and source.statement_at(10**6) is None
    assert source.statement_at(0) is None and source.statement_at(4) is None


@pytest.mark.parametrize(
    ("given", "names", "arguments"),
    [
        ("self, x, y=1", "self, x, y=1", "x, y"),
        ("self", "self", ""),
        ("me, x: 'Tensor', /, y: int | None = None, *, k, m: str = 'a', **kw: int",
         "me, x: 'Tensor', /, y: int | None = None, *, k, m: str = 'a', **kw: int", "x, y, k=k, m=m, **kw"),
        ("self, x, /", "self, x, /", "x"),
        ("self, *xs, mask=None", "self, *xs, mask=None", "*xs, mask=mask"),
        ("self, /, x=lambda a, b=2: {a: b}", "self, x=lambda a, b=2: {a: b}", "x"),
        ("self, naïve, lambda_=(1,\n  # why\n  2)", "self, naïve, lambda_=(1, 2)", "naïve, lambda_"),
    ],
)  # fmt: skip
def test_signature(loads: Any, given: str, names: str, arguments: str) -> None:
    import ast

    from hiremate_gen.load.signature import signature

    [function] = ast.parse(f"def forward({given}) -> 'T': pass").body
    found = signature(function)  # type: ignore[arg-type]
    assert (found.text, found.arguments, found.returns) == (names, arguments, "'T'")
    ast.parse(f"def forward({found.text}): pass")
