"""One small model for each kind of fault that users of other tools met: exact with nothing and with all run again."""

from __future__ import annotations

from pathlib import Path

import pytest

import hiremate_gen
import hiremate_gen.errors
from hiremate_gen import pipeline
from hiremate_gen.ir import Chain, Graph, Plan, Segment

KINDS = sorted((Path(__file__).parent / "kinds").glob("*.py"))


def run_all_again(graph: Graph, chain: Chain, budget_bytes: int, **_: object) -> Plan:
    """Every op that may run again does so at the start of its block's backward."""
    segments = [Segment("forward", n, block.forward) for n, block in enumerate(chain.blocks)]
    for n, block in reversed(list(enumerate(chain.blocks))):
        again = [o for o in block.forward if graph.op[o].recomputable and not graph.held & set(graph.writes[o])]
        segments.append(Segment("backward", n, (*again, *block.backward)))
    return Plan(tuple(segments), "all again", "")


@pytest.mark.parametrize("path", KINDS, ids=[p.stem for p in KINDS])
def test_nothing_runs_again(path: Path) -> None:
    """The self-check inside compares three steps, accumulation, buffers, the generator and evaluation with eager."""
    text = hiremate_gen.generate(str(path), "100%").text
    assert "recompute" not in text


@pytest.mark.parametrize("path", KINDS, ids=[p.stem for p in KINDS])
def test_everything_runs_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "solve", run_all_again)
    assert "recompute" in hiremate_gen.generate(str(path), "100%").text


def test_the_check_finds_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recomputation that reads the wrong tensor is an internal error, and nothing comes out."""
    original = pipeline.emission.emit

    def wrong(*args: object) -> str:
        return original(*args).replace("0.2, True", "0.25, True")  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline.emission, "emit", wrong)
    with pytest.raises(hiremate_gen.errors.InternalError, match="not what eager computes"):
        hiremate_gen.generate(str(Path(__file__).parent / "kinds" / "dropout2.py"), "100%")
