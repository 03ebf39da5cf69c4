"""The methods by the names of `config.STRATEGIES`; `hiremate` is `solve` itself."""

from __future__ import annotations

from hiremate_gen.solve.strategies.checkmate import checkmate
from hiremate_gen.solve.strategies.dtr import dtr
from hiremate_gen.solve.strategies.none import none
from hiremate_gen.solve.strategies.problem import Method
from hiremate_gen.solve.strategies.rockmate import rockmate
from hiremate_gen.solve.strategies.rotor import rotor
from hiremate_gen.solve.strategies.sqrt import sqrt

METHODS: dict[str, Method] = {
    "none": none,
    "sqrt": sqrt,
    "rotor": rotor,
    "rockmate": rockmate,
    "checkmate": checkmate,
    "dtr": dtr,
}
