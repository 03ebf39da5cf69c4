"""What a generated file says of itself is what its code does: read from the golden files."""

from __future__ import annotations

import ast
import re
from itertools import pairwise

import pytest
from command import ROOT

FILES = sorted((ROOT / "golden").glob("*/expected*.py"), key=str)
SIZE = r"\d+(?:\.\d+)? (?:B|KiB|MiB|GiB)"


def ids(path: object) -> str:
    return "/".join(str(path).split("/")[-2:])


@pytest.fixture(params=FILES, ids=ids)
def text(request: pytest.FixtureRequest) -> str:
    return str(request.param.read_text("utf-8"))


def rounded(sizes: list[str]) -> tuple[float, float]:
    """Their sum in bytes and by how much it may differ, as each has one digit after the point."""
    scales = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
    split = [(float(number), unit) for number, unit in map(str.split, sizes)]
    slack = sum(scales[unit] * 0.05 for _, unit in split if unit != "B")
    return sum(scales[unit] * number for number, unit in split), slack


def test_what_all_blocks_keep_is_the_sum_of_the_table(text: str) -> None:
    header = text.partition("\n# budget")[0]
    rows = re.findall(rf"  (\d+) +({SIZE})(?: \+ x ({SIZE}))?  ", header)
    sizes = [size for count, *kept in rows for size in kept * int(count) if size]
    total, slack = rounded(sizes)
    [said] = re.findall(rf"; blocks keep ({SIZE})", re.sub(r"\s+(?:# +)?", " ", text))
    assert abs(total - rounded([said])[0]) <= slack + rounded([said])[1]


def test_what_a_class_keeps_is_the_sum_of_its_tensors(text: str) -> None:
    docs = re.findall(r"    Keeps ?([^:]*): (.*?)\.\n", text, re.DOTALL)
    assert docs
    for said, what in docs:
        sizes = re.findall(SIZE, what)
        assert bool(said) == (len(sizes) > 1), what
        if said:
            total, slack = rounded(sizes)
            assert abs(total - rounded([said])[0]) <= slack + rounded([said])[1], (said, what)


def test_no_line_ends_between_a_name_and_its_size(text: str) -> None:
    assert not re.search(r"^    (?:\d|(?:B|KiB|MiB|GiB)[,.])", text, re.MULTILINE)


def test_sums_of_gradients_are_said_to_be_sums(text: str) -> None:
    for comment, line in pairwise(map(str.strip, text.splitlines())):
        of = re.fullmatch(r"# sum of the gradients of (\w+)", comment)
        assert of is None or re.match(rf"grad_{of[1]}\w* = ", line), (comment, line)


def test_what_is_left_in_live_is_read(text: str) -> None:
    tree = ast.parse(text)
    slots = [n for n in ast.walk(tree) if isinstance(n, ast.Subscript) and ast.unparse(n.value) == "live"]
    left = {_key(n.slice) for n in slots if isinstance(n.ctx, ast.Store)}
    read = {_key(n.slice) for n in slots if isinstance(n.ctx, ast.Load)}
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "live.take"]
    read |= {_key(call.args[0]) for call in calls}
    assert left - read <= {"grad_x"}  # of a first block whose input needs a gradient, too


def _key(index: ast.expr) -> str:
    return ast.unparse(index.elts[0] if isinstance(index, ast.Tuple) else index).strip("'")
