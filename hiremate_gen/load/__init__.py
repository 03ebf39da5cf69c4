"""Load: find the model and its inputs in model.py, or say with file:line:col what is wrong; never run training."""

from __future__ import annotations

import ast
from dataclasses import replace
from types import ModuleType

from hiremate_gen.errors import LoadError
from hiremate_gen.ir.source import SourceFile
from hiremate_gen.load.blame import blame, needs_skipped
from hiremate_gen.load.build import Built, build_fake, build_real, check_device, fake_mode, own_randomness
from hiremate_gen.load.choose import choose
from hiremate_gen.load.limit import OutOfTime, time_limit
from hiremate_gen.load.loaded import Loaded, LoadRequest, input_names
from hiremate_gen.load.module import import_text
from hiremate_gen.load.place import Place, at_home, place
from hiremate_gen.load.planned import planned
from hiremate_gen.load.read import read
from hiremate_gen.load.recipe import Recipe, compiled, keyword
from hiremate_gen.load.script import skipped

__all__ = ["Built", "LoadRequest", "Loaded", "load"]


def load(request: LoadRequest) -> Loaded:
    """Import the file, build the model and its inputs.

    Raises LoadError when something is missing or wrong, UnsupportedError when the class cannot be rewritten.
    """
    source, tree = read(request.path)
    expressions = _expressions(request)
    source = replace(source, skipped=skipped(tree, source.text, expressions))
    check_device(request.device)
    where = place(request.path, tree)
    # torch imports more of itself for it, which must not find the user's files in place of other packages.
    mode = fake_mode() if request.fake else None
    with at_home(where):
        module = _imported(source, where, request)
        source = replace(source, star_names=_star_names(tree, module))
        recipe = Recipe(source, where, module, _model_expr(request, module, source, tree), request.inputs)
        device, seed = request.device, request.seed
        built = build_real(recipe, device, seed) if mode is None else build_fake(recipe, mode, device, seed)
    source = replace(source, planned=planned(built.model, where.module, source, tree))
    names = input_names(built.model, built.args, built.kwargs)
    parts = (built.model, built.args, built.kwargs, built.fake_mode, names, built.notes)
    return Loaded(source, where.file, *parts, request.device, replace(recipe, source=source))


def _expressions(request: LoadRequest) -> list[str]:
    """Those of the flags, each checked before anything runs."""
    texts = [keyword(text, f"--inputs #{at}")[1] for at, text in enumerate(request.inputs, 1)]
    for at, text in enumerate(texts, 1):
        compiled(text, f"--inputs #{at}")
    if request.model is not None:
        compiled(request.model, "--model")
        texts.append(request.model)
    return texts


def _imported(source: SourceFile, where: Place, request: LoadRequest) -> ModuleType:
    left_out = {s.index for s in source.skipped}
    try:
        with own_randomness(request.seed, request.device), time_limit(request.import_limit_s):
            return import_text(where, source.text, left_out)
    except OutOfTime as error:
        hint = 'put what runs behind `if __name__ == "__main__":`; only definitions are needed here'
        message = f"importing the file takes more than {request.import_limit_s:g} s"
        raise LoadError(message, where=blame(error, "", source, where).where, hint=hint) from None
    except (Exception, SystemExit) as error:
        raise blame(error, "importing the file", source, where) from error


def _model_expr(request: LoadRequest, module: ModuleType, source: SourceFile, tree: ast.Module) -> str:
    if request.model is not None:
        return request.model.strip()
    if hasattr(module, "build_model"):
        return "build_model()"
    lost = next((s for s in source.skipped if any(isinstance(tree.body[s.index], ast.ClassDef) for _ in s.names)), None)
    try:
        return choose(module, source, tree)
    except LoadError:
        if lost is not None:
            raise needs_skipped(lost.names[0], lost, source, f"{source.path}:{lost.line}:1") from None
        raise


def _star_names(tree: ast.Module, module: ModuleType) -> tuple[str, ...]:
    stars = any(isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in tree.body)
    return tuple(sorted(n for n in vars(module) if not n.startswith("__"))) if stars else ()
