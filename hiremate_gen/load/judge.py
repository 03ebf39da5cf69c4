"""What kind of thing a top-level statement does, from its text alone."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator
from enum import IntEnum

from hiremate_gen.load.references import bound, mentioned
from hiremate_gen.load.signature import Function


class Kind(IntEnum):
    """From harmless to never run; a compound statement is as bad as the worst inside it."""

    RUN = 0
    UNKNOWN = 1  # calls something that cannot be judged: runs, unless the file is a script that does not need it
    BUILD = 2  # builds a model that nothing here needs
    CALL = 3  # calls into another package for its effect
    SCRIPT = 4
    MAIN = 5  # `if __name__ == "__main__"`


Verdict = tuple[Kind, str]
_RUN: Verdict = (Kind.RUN, "")

_TRAINS = {"backward", "step", "fit", "train_step", "train_epoch", "run_training"}
_SCRIPT_WORK = {
    *("load", "loadmat", "load_state_dict", "load_dataset", "read_csv", "open", "input", "urlopen", "urlretrieve"),
    *("cuda", "DataLoader", "parse_args", "parse_known_args", "init_process_group", "download", "save", "savefig"),
    *("Adam", "AdamW", "SGD", "Adagrad", "RMSprop", "Adafactor", "SummaryWriter", "GradScaler", "train", "eval"),
    *("main", "run", "launch", "spawn", "start"),
}
_SETTINGS = {"manual_seed", "manual_seed_all", "seed", "use_deterministic_algorithms", "filterwarnings"}
_SETTINGS |= {"simplefilter", "basicConfig", "setdefault", "add_safe_globals", "setrecursionlimit", "setLevel"}
_SETTINGS_OF = ("sys.path.", "os.environ.", "warnings.", "logging.", "torch.set_", "torch.backends.")
_ACTS = ("open", "input", "exec", "eval", "compile", "__import__", "breakpoint", "exit", "quit")
_BUILTINS = set(dir(builtins)).difference(_ACTS)
_UNSAFE_STDLIB = {"subprocess", "socket", "urllib", "http", "asyncio", "multiprocessing", "threading", "unittest"}
_UNSAFE_STDLIB |= {"time", "os", "sys", "shutil", "ftplib", "smtplib", "webbrowser", "pdb", "runpy", "code", "pickle"}
_SAFE_OF = {"os.environ", "os.getenv", "os.path", "os.cpu_count", "sys.version", "sys.path"}
_METHODS = {"get", "split", "items", "keys", "values", "copy", "format", "join", "strip", "lower", "upper", "replace"}


def is_main_guard(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":` without an else: it goes, for the file is never the main program."""
    match node:
        case ast.If(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]), orelse=[]):
            sides = {ast.unparse(left), ast.unparse(right)}
            return sides == {"__name__", "'__main__'"}
    return False


def dotted(node: ast.expr) -> str:
    """`torch.nn.Linear` as text, a call or index inside it as `()`: `Net().cuda` -> "Net().cuda"."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{dotted(value)}.{attr}"
        case ast.Call(func=func):
            return f"{dotted(func)}()"
        case ast.Subscript(value=value):
            return f"{dotted(value)}[]"
    return "<expression>"


class Judge:
    """Judges the statements of one file.  `needed` holds the names that model and inputs can need."""

    def __init__(self, tree: ast.Module) -> None:
        self.needed: frozenset[str] = frozenset()
        self._origin = _imports(tree)
        self._classes = {s.name: s for s in tree.body if isinstance(s, ast.ClassDef)}
        self._functions = {s.name: s for s in tree.body if isinstance(s, Function)}
        self.modules = {n for n in self._classes if self._is_module(n, set())}
        self._trainers = self._closure({n for n, f in self._functions.items() if _calls_any(f, _TRAINS)})

    def verdict(self, node: ast.stmt) -> Verdict:
        """How bad it is to run the statement, and why."""
        needed = bool(self.needed & ({*bound(node)} | self._changed(node)))
        match node:
            case ast.If() if is_main_guard(node):
                return Kind.MAIN, "it is the main program"
            case ast.Expr(value=ast.Call() as call):
                return self._bare(call)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                return self._value(node, needed)
            case ast.If(test=test) | ast.While(test=test):
                loop = [(Kind.SCRIPT, "it loops until something happens")] if isinstance(node, ast.While) else []
                return max([self._value(test, needed), *self._inside(node), *loop], key=_badness)
            case ast.For(iter=value):
                return max([self._value(value, needed), *self._inside(node)], key=_badness)
            case ast.With(items=items):
                return max([*(self._value(i.context_expr, needed) for i in items), *self._inside(node)], key=_badness)
            case ast.Try():
                return max([_RUN, *self._inside(node)], key=_badness)
        return _RUN

    def _inside(self, node: ast.stmt) -> Iterator[Verdict]:
        """Verdicts of the statements in the bodies of a compound statement."""
        guard = isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)
        blocks = [] if guard else [getattr(node, "body", [])]
        blocks += [getattr(node, "orelse", []), getattr(node, "finalbody", [])]
        blocks += [h.body for h in getattr(node, "handlers", [])]
        for block in blocks:
            for statement in block:
                kind, reason = self.verdict(statement)
                # In a loop or a branch, a call that cannot be judged is not worth the risk.
                yield (Kind.SCRIPT, reason) if kind > Kind.UNKNOWN else (kind, reason)

    def _bare(self, call: ast.Call) -> Verdict:
        """A call for its effect."""
        name = dotted(call.func)
        root, _, _ = name.partition(".")
        tail = name.rpartition(".")[2]
        inside = [dotted(c.func) for c in _calls(call)]
        if trains := next((n for n in inside if self._trains(n)), ""):
            return Kind.SCRIPT, f"it calls {trains}(), which trains"
        if any(n in self._functions or n in self.modules or n.endswith("exit") for n in inside):
            return Kind.SCRIPT, f"it calls {name}()"
        if tail in _SETTINGS or name.startswith(_SETTINGS_OF) or name in ("print", "setattr", "delattr"):
            return self._value(call, True) if name in ("print", "setattr") else _RUN
        if root in self._origin and tail not in _SCRIPT_WORK and not self._is_stdlib(root):
            return Kind.CALL, f"it calls {name}()"
        if root in self.needed and root not in self._functions and root not in self._origin:
            return self._value(call, True)  # `parser.add_argument(...)` changes something that is needed
        return Kind.SCRIPT, f"it calls {name}()"

    def _value(self, node: ast.AST, needed: bool) -> Verdict:
        """An expression, or a statement that assigns one."""
        worst = _RUN
        for call in _calls(node):
            name = dotted(call.func)
            tail = name.rpartition(".")[2]
            if self._trains(name):
                return Kind.SCRIPT, f"it calls {name}(), which trains"
            if needed or self._is_plain(name):
                continue
            if tail in _SCRIPT_WORK or "optim" in name.split("."):
                found = (Kind.SCRIPT, f"it calls {name}(), and neither the model nor its inputs need it")
            elif name in self.modules:
                found = (Kind.BUILD, f"it builds {name}, and neither build_model() nor the inputs need it")
            else:
                found = (Kind.UNKNOWN, f"it calls {name}(), and neither the model nor its inputs need it")
            worst = max(worst, found, key=_badness)
        return worst

    def _trains(self, name: str) -> bool:
        return name.rpartition(".")[2] in _TRAINS or name in self._trainers

    def _is_plain(self, name: str) -> bool:
        """Calls that every import may make: builtins, most of the standard library, classes that hold settings."""
        root = name.partition(".")[0]
        if root in self._origin:
            return self._is_stdlib(root) or any(name.startswith(s) for s in _SAFE_OF)
        if name in self._classes:
            return name not in self.modules
        return name in _BUILTINS or ("." in name and name.rpartition(".")[2] in _METHODS)

    def _is_stdlib(self, root: str) -> bool:
        package = self._origin[root].partition(".")[0]
        return package in sys.stdlib_module_names and package not in _UNSAFE_STDLIB

    def _is_module(self, name: str, seen: set[str]) -> bool:
        """Whether the class looks like an nn.Module."""
        if name in seen or name not in self._classes:
            return False
        bases = [dotted(b) for b in self._classes[name].bases]
        return any(
            b.rpartition(".")[2].endswith("Module") or self._is_module(b, seen | {name}) or self._foreign(b)
            for b in bases
        )

    def _foreign(self, base: str) -> bool:
        """A base class from another package, which may be one of modules."""
        root, tail = base.partition(".")[0], base.rpartition(".")[2]
        return root in self._origin and not self._is_stdlib(root) and tail not in ("Dataset", "Function", "Sampler")

    def _changed(self, node: ast.stmt) -> set[str]:
        targets = getattr(node, "targets", None) or [getattr(node, "target", node)]
        return {n for t in targets if isinstance(t, ast.Attribute | ast.Subscript) for n in mentioned(t)}

    def _closure(self, found: set[str]) -> set[str]:
        """`found` and the functions that call one of them."""
        while more := {n for n, f in self._functions.items() if n not in found and _calls_any(f, found)}:
            found |= more
        return found


def _imports(tree: ast.Module) -> dict[str, str]:
    """Name -> the module that it was imported from."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update((a.asname or a.name.partition(".")[0], a.name) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.update((a.asname or a.name, node.module or ".") for a in node.names)
    return found


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, ast.Call):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _calls(child)


def _calls_any(node: ast.AST, names: set[str]) -> bool:
    return any(dotted(c.func).rpartition(".")[2] in names for c in ast.walk(node) if isinstance(c, ast.Call))


def _badness(verdict: Verdict) -> tuple[Kind, bool]:
    """Of two equal verdicts, the one that tells more."""
    return verdict[0], verdict[1].endswith("trains")
