"""What the functions of a file call things, where the model's modules are all that they can be called after."""

from __future__ import annotations

import re

import pytest
from test_diffs import generated

MODEL = '''"""A net."""

import torch
from torch import nn


class Twice(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True)
        )

    def forward(self, x):
        return self.layers(x)


class Half(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.pool = nn.MaxPool2d(2)
        self.conv = Twice(before, after)

    def forward(self, x):
        return self.conv(self.pool(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = Twice(3, 8)
        self.down = nn.ModuleList([Half(8, 16), Half(16, 32)])
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        x = self.start(x)
        for half in self.down:
            x = half(x)
        return self.head(x.mean((2, 3))).square().mean()


def build_model():
    return Net()


def example_inputs():
    return (torch.randn(4, 3, 32, 32),)
'''


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    return generated(tmp_path_factory.mktemp("names"), MODEL)


def test_modules_that_stand_alone_in_another_are_left_out(text: str) -> None:
    """`conv.layers.0` is no other module than `conv.0`; the names of parameters in the model stay as they are."""
    step = text[text.index("Tensors = dict") :]
    code = re.sub(r"#.*|\"[^\"]*\"", "", step)
    assert "conv_0" in code and "conv_layers" not in code
    assert re.search(r"\"conv\.layers\.0\.weight\"", step)


def test_a_batch_norm_is_one_thing(text: str) -> None:
    """Its result has its module's name, its statistics are told apart, and nothing is called after its counter."""
    code = re.sub(r"#.*", "", text[text.index("Tensors = dict") :])
    assert re.search(r"\bconv_1, conv_1_mean, conv_1_rstd = ", code)
    named = {name for line in re.findall(r"^ +([\w, ]+) = ", code, re.M) for name in line.split(", ")}
    assert "conv_1" in named and not [name for name in named if re.search(r"norm|add|batch|tracked", name)]


def test_gradients_by_their_short_calls(text: str) -> None:
    """Each is there once, and only those that the step calls."""
    names = ("batch_norm_backward", "conv_backward", "relu_backward_", "layer_norm_backward")
    defined = [name for name in names if f"\ndef {name}(" in text]
    assert defined == [name for name in names if len(re.findall(rf"\b{name}\(", text)) > 1]
    assert defined[:2] == list(names[:2]) and "layer_norm_backward" not in defined
    assert text.count("aten.convolution_backward(") == 1
