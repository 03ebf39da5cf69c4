"""Golden files are written anew with `pytest --regenerate`; nothing that an earlier run solved is used."""

from __future__ import annotations

import os

import pytest

os.environ["HIREMATE_GEN_CACHE"] = ""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regenerate", action="store_true", help="write what the tool says now into golden/")
    parser.addoption("--keep-plans", action="store_true", help="with --regenerate: solve nothing, keep each plan.json")
