"""Solved blocks on disk: the same plan with and without, whatever the files hold."""

from __future__ import annotations

import os
from pathlib import Path

import graphs
import pytest

from hiremate_gen.config import Options
from hiremate_gen.ir import Plan, replay
from hiremate_gen.solve import keep_all, options, solve
from hiremate_gen.solve.build import whole
from hiremate_gen.solve.cache import Cache
from hiremate_gen.solve.search import search

GRAPH, CHAIN = graphs.transformer(1)
BUDGET = replay(GRAPH, keep_all(GRAPH, CHAIN)).peak_bytes * 7 // 10


def plan(folder: Path | None) -> Plan:
    search.cache_clear()
    return solve(GRAPH, CHAIN, BUDGET, cache=str(folder) if folder is not None else None)


def test_same_plan_and_nothing_solved_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "new" / "cache"
    alone, first = plan(None), plan(folder)
    assert len(list(folder.iterdir())) == len({b.twin for b in CHAIN.blocks})

    def never(*_: object) -> None:
        raise AssertionError("a block was solved again")

    monkeypatch.setattr(options, "_search", never)
    assert alone == first == plan(folder)


def test_only_what_changed_is_solved(tmp_path: Path) -> None:
    plan(tmp_path)
    before = set(tmp_path.iterdir())
    search.cache_clear()
    changed = graphs.mark(GRAPH, {"f_logits"}, time_s=3.0)
    solve(changed, CHAIN, BUDGET, cache=str(tmp_path))
    assert len(set(tmp_path.iterdir()) - before) == 1


def test_broken_files_do_no_harm(tmp_path: Path) -> None:
    net, _, _ = whole(GRAPH, CHAIN)
    store = Cache(str(tmp_path))
    assert store.load(net, 1) is None
    store.store(net, 1, [(), (net.code(net.n_forward, 0),)])
    (path,) = tmp_path.iterdir()
    good = path.read_text("utf-8")
    assert store.load(net, 1) == [(), (net.code(net.n_forward, 0),)]
    assert store.load(net, 2) is None
    for text in ("", "x", "[[1, 2]]", "0" * 64 + "\n[[1]]", "\x00\xff", good[:-1], good.replace("[]", "[9]")):
        path.write_text(text, "latin-1")
        assert store.load(net, 1) is None
    store.store(net, 1, [(net.n_ops * net.n_forward,)])
    assert store.load(net, 1) is None


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    net, _, _ = whole(GRAPH, CHAIN)
    store = Cache(str(tmp_path / "file" / "below"))
    store.store(net, 1, [()])
    assert store.load(net, 1) is None


def test_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    options = Options("model.py")
    monkeypatch.setenv("HIREMATE_GEN_CACHE", "here")
    assert options.cache_folder == "here"
    assert Options("model.py", cache=False).cache_folder is None
    monkeypatch.setenv("HIREMATE_GEN_CACHE", "")
    assert options.cache_folder is None
    monkeypatch.delenv("HIREMATE_GEN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", os.path.abspath("some"))
    assert options.cache_folder == os.path.join(os.path.abspath("some"), "hiremate-gen")
