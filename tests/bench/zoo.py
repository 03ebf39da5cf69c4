"""What is measured: models, and the budgets and flags of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
GOLDEN = HERE.parents[1] / "golden"
HIGH, LOW = 0.9, 0.4  # of the peak of keeping all: the budgets, or from where a plan fits
BUDGETS, QUICK = 8, 2
PEERS = ("none", "sqrt", "rotor", "rockmate", "dtr", "checkmate")


@dataclass(frozen=True, slots=True)
class Row:
    """A model and how it is built; `blocks` are the modules that `torch.utils.checkpoint` wraps."""

    name: str
    path: Path
    model: str | None = None
    inputs: tuple[str, ...] = ()
    peers: tuple[str, ...] = PEERS
    blocks: str = ""


def _bench(name: str, file: str, *rest: object, **more: object) -> Row:
    return Row(name, HERE / "models" / f"{file}.py", *rest, **more)  # type: ignore[arg-type]


QUICKLY = ("none", "sqrt", "rotor", "dtr")  # peers where a MILP is out of reach
ZOO = (
    *(Row(name, GOLDEN / name / "model.py") for name in ("mlp", "gpt", "llama", "resnet", "unet", "vit")),
    *(
        _bench(f"gpt-{n}", "gpt", f"GPT({n}, vocab=8192)", 2 * ("torch.randint(0, 8192, (8, 1024))",))
        for n in (2, 3, 4, 5)
    ),
    _bench("resnet18", "resnet18"),
    _bench("unet-64", "unet"),
    _bench("fno", "fno"),
    _bench("encdec", "encoder_decoder", peers=("none", "sqrt", "rotor", "rockmate", "dtr")),
    _bench("densenet121", "densenet121", peers=QUICKLY[:3]),
)
SCALE = (
    _bench("gpt-48", "gpt", "GPT(48)"),
    _bench("10000 ops", "gpt", "GPT(334, width=128, vocab=512, context=256)",
           2 * ("torch.randint(0, 512, (8, 256))",)),
    _bench("100 distinct", "gpt", "GPT(100, width=256, vocab=512, context=256, grow=8)",
           2 * ("torch.randint(0, 512, (8, 256))",)),
    _bench("unet-64", "unet"),
    _bench("densenet121", "densenet121"),
    _bench("encdec", "encoder_decoder"),
    _bench("fno", "fno"),
)  # fmt: skip
REAL = (
    _bench("gpt", "gpt", "GPT(4, width=256, vocab=2048, context=128)",
           2 * ("torch.randint(0, 2048, (4, 128))",), blocks="blocks"),
    _bench("resnet18", "resnet18", None,
           ("torch.randn(8, 3, 128, 128)", "torch.randint(0, 1000, (8,))"), blocks="blocks"),
)  # fmt: skip
