"""Undefined names: what a linter finds in a script before it runs."""

# ruff: noqa: N815 (ast.NodeVisitor names its methods by the nodes)

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from wmrl_envs.wrappers.world_models.syntax import children, descendants

_ALWAYS_BOUND = frozenset(dir(builtins)) | {
    "__annotations__", "__builtins__", "__class__", "__file__", "__module__", "__qualname__",
}  # fmt: skip
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Loop = ast.For | ast.AsyncFor | ast.While
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Compound = _Loop | ast.If | ast.Try | ast.With | ast.AsyncWith | ast.Match


def undefined_names(tree: ast.Module) -> set[str]:
    """Names that are loaded before anything has bound them, statement by statement.

    What may be bound counts as bound: both branches of an ``if``, every handler of a ``try``, the
    names of an earlier round of a loop. Functions are read last, because they run after what
    follows them. Annotations are not read, and nothing is counted after a star import, which may
    bind anything.

    Args:
        tree: A parsed script.

    Raises:
        RecursionError: The script is nested too deeply.

    Example:
        >>> sorted(undefined_names(ast.parse("import numpy as np; print(np.ones(n), pd)")))
        ['n', 'pd']
    """
    reader = _Reader()
    for statement in tree.body:
        reader.visit(statement)
        if isinstance(statement, ast.Delete):
            reader.forget(bound_names(statement.targets))
    reader.read_functions()
    return reader.missing


def bound_names(nodes: Iterable[ast.AST]) -> set[str]:
    """All names that some nodes bind or delete, nested scopes included."""
    return {name for node in nodes for child in descendants(node) for name in _bound_by(child)}


def _bound_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, _Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


class _ClassScope(set[str]):
    """The names of a class body, which the methods in it do not see."""


class _Reader(ast.NodeVisitor):
    """Visits a module in the order in which it runs.

    Attributes:
        missing: The names that were loaded before they were bound.
    """

    # Looked up once for each kind of node: a script has hundreds of nodes.
    _visitors: ClassVar[dict[type[ast.AST], Callable[[Any, Any], None] | None]] = {}

    def __init__(self) -> None:
        self.missing: set[str] = set()
        self._scopes: list[set[str]] = [set(_ALWAYS_BOUND)]
        self._forgotten: set[str] = set()
        self._functions: list[tuple[_Function | ast.Lambda, list[set[str]]]] = []
        self._anything_bound = False

    def forget(self, names: set[str]) -> None:
        """Takes deleted names out of the module."""
        self._scopes[0] -= names
        self._forgotten |= names

    def read_functions(self) -> None:
        """Reads the bodies of the functions met so far, and of those within them."""
        # A function may have been called before one of its names was deleted.
        self._scopes[0] |= self._forgotten
        while self._functions:
            function, outer = self._functions.pop()
            own = bound_names([function]) - _global_names(function)
            self._scopes = [*outer, own]
            body = function.body if isinstance(function.body, list) else [function.body]
            self._visit_all(body)

    def _bind(self, names: Iterable[str]) -> None:
        self._scopes[-1].update(names)

    def _visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def _load(self, name: str) -> None:
        if not self._anything_bound and not any(name in scope for scope in self._scopes):
            self.missing.add(name)

    def visit(self, node: ast.AST) -> None:
        kind = type(node)
        if kind not in self._visitors:
            method = getattr(type(self), f"visit_{kind.__name__}", type(self).generic_visit)
            self._visitors[kind] = None if kind is ast.Constant else method
        visitor = self._visitors[kind]
        if visitor is not None:
            visitor(self, node)

    def generic_visit(self, node: ast.AST) -> None:
        for child in children(node):
            self.visit(child)
        if isinstance(node, ast.MatchAs | ast.MatchStar | ast.MatchMapping):
            self._bind(_bound_by(node))

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._bind([node.id])
        else:
            self._load(node.id)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self._anything_bound |= any(alias.name == "*" for alias in node.names)
        self._bind(_bound_by(node))

    visit_ImportFrom = visit_Import

    def visit_Assign(self, node: ast.Assign) -> None:
        self._visit_all([node.value, *node.targets])

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._load(node.target.id)
        self._visit_all([node.value, node.target])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._visit_all([node.value, node.target])

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        # In a comprehension it binds outside of that; which scope it is does not matter here.
        for scope in self._scopes:
            scope.add(node.target.id)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self._visit_all([node.iter, node.target])
        self._visit_rounds(node.body)
        self._visit_all(node.orelse)

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self._visit_rounds(node.body)
        self._visit_all(node.orelse)

    def _visit_rounds(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, _Compound):
                # It may be for later rounds only, when all of the body has run.
                self._bind(bound_names(body))
            self.visit(statement)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._bind(_bound_by(node))
        self._visit_all([node.type, *node.body])

    def _visit_comprehension(self, node: _Comprehension) -> None:
        self._scopes.append(set())
        for part in node.generators:
            self._visit_all([part.iter, part.target, *part.ifs])
        self._visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self._scopes.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_all([*node.args.defaults, *node.args.kw_defaults])
        self._read_later(node)

    def visit_FunctionDef(self, node: _Function) -> None:
        self._visit_all([*node.decorator_list, *node.args.defaults, *node.args.kw_defaults])
        self._bind([node.name])
        self._scopes[0] |= _global_names(node)
        self._read_later(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def _read_later(self, node: _Function | ast.Lambda) -> None:
        seen = [scope for scope in self._scopes if not isinstance(scope, _ClassScope)]
        self._functions.append((node, seen))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all([*node.decorator_list, *node.bases, *node.keywords])
        self._scopes.append(_ClassScope())
        self._visit_all(node.body)
        self._scopes.pop()
        self._bind([node.name])


def _global_names(node: ast.AST) -> set[str]:
    """Names that functions declare to be the module's."""
    found = (child.names for child in ast.walk(node) if isinstance(child, ast.Global))
    return {name for names in found for name in names}
