"""Golden files are written anew with `pytest --regenerate`."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regenerate", action="store_true", help="write what the tool says now into golden/")
