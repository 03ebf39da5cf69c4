"""--explain, --sweep and --report from the command line."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from command import ROOT, command

from hiremate_gen.cli import main
from hiremate_gen.units import parse_size

MODEL = """import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        h = F.gelu(self.up(x))
        return x + self.drop(self.down(h))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(16) for _ in range(3))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x.square().mean()


def example_inputs():
    return torch.randn(256, 16)
"""


def cli(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), prog_name="hiremate-gen")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with the file and the page, and what was printed."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "model.py").write_text(MODEL, "utf-8")
    arguments = ("model.py", "--budget", "70%", "-o", "out.py", "--no-verify", "--save-plan", "plan.json")
    done = command(*arguments, "--explain", "--sweep", "--report", "out.html", cwd=folder, COLUMNS="40", LC_ALL="C")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def tables(text: str) -> dict[str, list[list[str]]]:
    """Title -> rows, the columns first."""
    found = {}
    for part in text.strip("\n").split("\n\n"):
        title, *rows = part.split("\n")
        found[title] = [re.split(r" {2,}", row.strip()) for row in rows]
    return found


def size(text: str) -> float:
    return float(parse_size(text.replace(" ", ""))) if text != "0 B" else 0.0


def test_saved_tensors(written: tuple[Path, str]) -> None:
    folder, printed = written
    found = tables(printed)
    head = next(title for title in found if title.startswith("What forward keeps for backward: "))
    assert re.fullmatch(r".*: \d+ tensors, [\d.]+ KiB", head)
    text = (folder / "out.py").read_text("utf-8")
    rows = [(title, row) for title, rows in found.items() if rows and rows[0][1] == "tensor" for row in rows[1:]]
    assert sum(len(title.rpartition(": ")[0].split(", ")) for title, _ in rows) == int(head.split()[5])
    for _, (_, tensor, made, why) in rows:
        name = tensor.split()[0]
        assert re.search(rf"\b{name}\b", text), f"{name} is no name of the generated file"
        assert re.search(r"\w+ at model\.py:\d+: \S", made), made
        assert re.search(r"reads it|runs again from it|the model returns it", why), why
    assert any("dropout at model.py:15" in made and why.endswith("random, drawn once") for _, (_, _, made, why) in rows)
    assert any(made.startswith("gelu at model.py:14: h = F.gelu(self.up(x))") for _, (_, _, made, _) in rows)
    assert any(row[3] == "the model returns it" for _, row in rows)


def test_moments(written: tuple[Path, str]) -> None:
    folder, printed = written
    moments = {title: rows for title, rows in tables(printed).items() if title.startswith("Moment ")}
    peak = re.search(r"^# peak +(\S+ \S+) .*, in (.*)$", (folder / "out.py").read_text("utf-8"), re.M)
    assert peak and len(moments) == 3
    tops = [re.match(r"Moment \d: (\S+ \S+) in (\w+ of \S+), while (.*) runs.* \(model.py:\d+\)", t) for t in moments]
    assert tops[0] and (tops[0][1], tops[0][2]) == (peak[1], peak[2])
    sizes = [size(top[1]) for top in tops if top]
    assert sizes == sorted(sizes, reverse=True) and len({top[2] for top in tops if top}) == 3
    for total, rows in zip(sizes, moments.values(), strict=True):
        assert sum(size(row[0]) for row in rows[1:]) == pytest.approx(total, rel=0.01)  # rounded to one decimal
        assert ["the model", "parameters"] in [row[1:] for row in rows]


def test_sweep(written: tuple[Path, str]) -> None:
    rows = next(rows for title, rows in tables(written[1]).items() if title.startswith("model.py: what each budget"))
    assert rows[0] == ["budget", "of eager's", "peak", "overhead", "no schedule below"] and len(rows) == 18
    budgets, peaks = [size(r[0]) for r in rows[1:]], [size(r[2]) for r in rows[1:]]
    overheads, bounds = [float(r[3].split()[0]) for r in rows[1:]], [float(r[4].split()[0]) for r in rows[1:]]
    assert budgets == sorted(budgets) and all(p <= b for p, b in zip(peaks, budgets, strict=True))
    assert overheads == sorted(overheads, reverse=True) and overheads[-1] == 0 < overheads[0]
    assert all(b <= o for b, o in zip(bounds, overheads, strict=True))
    assert rows[-1][1] == "100 %"


class Page(HTMLParser):
    """Elements that are open, addresses, and the text."""

    EMPTY = frozenset({"meta", "rect", "path", "line", "circle"})
    ADDRESSES = frozenset({"src", "href", "xlink:href", "srcset", "data"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.addresses: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.addresses += [
            value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "srcset", "data")
        ]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_page(written: tuple[Path, str]) -> None:
    folder, printed = written
    raw = (folder / "out.html").read_text("utf-8")
    page = Page(raw)
    assert raw.startswith("<!DOCTYPE html>\n<!-- Report by hiremate-gen. -->\n") and page.open == []
    assert {"svg", "table", "style"} <= page.seen and not {"script", "link", "img", "iframe", "object"} & page.seen
    assert page.addresses == [] and "http" not in raw and "url(" not in raw and "@import" not in raw
    assert "NaN" not in raw and "inf" not in re.findall(r'[dxyrc\d]+="([^"]*)"', raw) and str(folder) not in raw
    assert raw.count("<svg") == 2 and "hiremate-gen model.py --budget 70% -o out.py" in page.text
    for title, rows in tables(printed).items():
        assert title in page.text
        assert all(cell in " ".join(page.text.split()) for row in rows for cell in map(str.strip, row)), title
    peak = re.search(r"^# peak +(\S+ \S+) .*, in (.*)$", (folder / "out.py").read_text("utf-8"), re.M)
    assert peak and f"{peak[1]} in {peak[2]}" in page.text  # the mark in the plot


def test_same_bytes_from_elsewhere(written: tuple[Path, str], tmp_path: Path) -> None:
    """The page depends on the plan alone; without --sweep it has one plot."""
    folder, _ = written
    arguments = (str(folder / "model.py"), "--budget", "70%", "--plan", str(folder / "plan.json"), "--no-verify")
    first = command(*arguments, "--report", str(tmp_path / "a.html"), cwd=tmp_path, PYTHONHASHSEED="1")
    second = command(*arguments, "--report", "-", cwd=folder, PYTHONHASHSEED="2", OMP_NUM_THREADS="2")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert (tmp_path / "a.html").read_text("utf-8") == second.stdout
    assert second.stdout.count("<svg") == 1 and sorted(p.name for p in tmp_path.iterdir()) == ["a.html"]


def test_nothing_is_written_unless_asked_for(written: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, printed = written
    monkeypatch.chdir(folder)
    before = sorted(p.name for p in folder.iterdir())
    result = cli("model.py", "--sweep")
    assert result.exit_code == 0 and result.stdout == printed[printed.index("model.py: what each budget") :]
    result = cli("model.py", "--budget", "70%", "--plan", "plan.json", "--explain", "--no-verify")
    assert result.exit_code == 0 and result.stdout == printed[: printed.index("model.py: what each budget") - 1]
    assert sorted(p.name for p in folder.iterdir()) == before


def test_tables_on_a_terminal(written: tuple[Path, str]) -> None:
    """Drawn by rich, no wider than the terminal."""
    pty = pytest.importorskip("pty")
    folder, _ = written
    arguments = ["model.py", "--budget", "70%", "--plan", "plan.json", "--explain", "--no-verify"]
    code = f"import pty, sys; sys.exit(pty.spawn([sys.executable, '-m', 'hiremate_gen', *{arguments!r}]) >> 8)"
    environment = {"PYTHONPATH": str(ROOT), "COLUMNS": "100", "TERM": "xterm", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert pty and done.returncode == 0, done.stdout
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", done.stdout).replace("\r", "")
    lines = shown[shown.index("What forward keeps") : shown.rindex("\npeak ")].split("\n")
    assert any("━" in line or "─" in line for line in lines) and any("kept because" in line for line in lines)
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--explain",), "the budget is missing"),
        (("--report", "r.html"), "the budget is missing"),
        (("--sweep", "-o", "x.py"), "the budget is missing"),
        (("--budget", "1", "--explain", "-o", "-"), "two things would go to standard output"),
        (("--budget", "1", "--report", "-", "--sweep"), "two things would go to standard output"),
        (("--budget", "1", "--explain", "--check", "-o", "x.py"), "go with neither --dump nor --check nor --diff"),
        (("--budget", "1", "--sweep", "--dump", "solve"), "go with neither --dump nor --check nor --diff"),
        (("--budget", "1", "--report", "model.py"), "would replace the model"),
        (("--budget", "1", "--report", "notes.html"), "exists and was not written by hiremate-gen"),
    ],
)
def test_what_does_not_go_together(
    args: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "hiremate_gen.pipeline", None)
    Path("model.py").write_text(MODEL, "utf-8")
    Path("notes.html").write_text("<!DOCTYPE html>\nmine", "utf-8")
    result = cli("model.py", *args)
    assert result.exit_code == 2 and words in result.stderr, result.output
