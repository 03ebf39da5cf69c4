"""The torch that traces, as far as plans depend on it."""

from __future__ import annotations

import torch

TORCH = ".".join(torch.__version__.split(".")[:2])  # major.minor
