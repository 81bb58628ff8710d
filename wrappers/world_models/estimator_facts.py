"""What scikit-learn itself says of the estimators that a script makes, without fitting any.

A script such as ``m = SVC(C=1.0)`` followed by ``m.predict_proba(T)`` fails for certain, and a
classifier's tags tell whether it takes sparse input, missing values or several targets. Only public
classes of scikit-learn are made, and only with literal arguments.
"""

import ast
import importlib
import inspect
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from wmrl_envs.wrappers.world_models.syntax import descendants

ESTIMATOR_FACTS = (
    "rejected_arguments",
    "missing_methods",
    "classifier",
    "regressor",
    "several_targets",
    "sparse_input",
    "missing_values",
    "probabilities",
)


def estimator_facts(
    tree: ast.Module, nodes: Sequence[Sequence[ast.AST]] | None = None
) -> dict[str, float]:
    """Facts about the scikit-learn estimators that module-level statements make.

    Args:
        tree: The parsed script.
        nodes: All nodes of each module-level statement, if they are known already.

    Returns:
        ``rejected_arguments`` (constructors that raise), ``missing_methods`` (calls of methods that
        the estimator lacks), and of the last estimator that predicts, each 0 or 1: ``classifier``,
        ``regressor``, ``several_targets``, ``sparse_input``, ``missing_values`` (what it accepts)
        and ``probabilities`` (whether it gives them).
    """
    facts = dict.fromkeys(ESTIMATOR_FACTS, 0.0)
    imported: dict[str, _Source] = {}
    made: dict[str, Any] = {}
    if nodes is None:
        nodes = [descendants(statement) for statement in tree.body]
    for statement, within in zip(tree.body, nodes, strict=True):
        imported |= _imported(statement)
        calls = [node for node in within if type(node) is ast.Call]
        facts["missing_methods"] += sum(_lacks_method(call, made) for call in calls)
        estimators: dict[ast.AST, Any] = {call: _called(call, imported) for call in calls}
        facts["rejected_arguments"] += list(estimators.values()).count(_REJECTED)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            # An expression around the call, such as a list, is not the estimator.
            made[statement.targets[0].id] = estimators.get(statement.value)
    for estimator in made.values():
        if _has(estimator, "predict"):
            facts |= _tags(estimator)
    return facts


_Source = tuple[str, str]
_Arguments = tuple[tuple[str, Any], ...]
_NOT_PUBLIC = ("conftest", "experimental", "externals", "tests")
_REJECTED = object()
"""Stands for an estimator whose constructor raised."""


def _called(call: ast.AST, imported: dict[str, _Source]) -> Any:
    """The estimator that a call makes, :data:`_REJECTED`, or None."""
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in imported:
        return _make(*imported[call.func.id], _literal_arguments(call))
    return None


def _lacks_method(call: ast.Call, made: dict[str, Any]) -> bool:
    if not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Name):
        return False
    estimator = made.get(call.func.value.id)
    return estimator not in (None, _REJECTED) and not _has(estimator, call.func.attr)


@lru_cache(maxsize=4096)
def _has(estimator: Any, name: str) -> bool:
    """Whether an unfitted estimator has an attribute; some raise more than AttributeError."""
    try:
        return hasattr(estimator, name)
    except (RuntimeError, TypeError, ValueError):
        return False


def _imported(statement: ast.stmt) -> dict[str, _Source]:
    """Names that a statement imports from scikit-learn, with where they come from."""
    if not isinstance(statement, ast.ImportFrom) or statement.level:
        return {}
    module = statement.module or ""
    first, *parts = module.split(".")
    if first != "sklearn" or any(p.startswith("_") or p in _NOT_PUBLIC for p in parts):
        return {}
    return {alias.asname or alias.name: (module, alias.name) for alias in statement.names}


def _literal_arguments(call: ast.Call) -> _Arguments | None:
    """The keyword arguments; None where an argument is positional, or no literal that hashes."""
    try:
        arguments = tuple((k.arg or "", ast.literal_eval(k.value)) for k in call.keywords)
        hash(arguments)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None
    return None if call.args else arguments


@lru_cache(maxsize=4096)
def _make(module: str, name: str, arguments: _Arguments | None) -> Any:
    """An unfitted estimator; None where there is none to make."""
    try:
        cls = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
    from sklearn.base import BaseEstimator

    if arguments is None or not inspect.isclass(cls) or not issubclass(cls, BaseEstimator):
        return None
    try:
        return cls(**dict(arguments))
    except (TypeError, ValueError):
        return _REJECTED


@lru_cache(maxsize=4096)
def _tags(estimator: Any) -> dict[str, float]:
    from sklearn.utils import get_tags

    try:
        tags = get_tags(estimator)
    except (AttributeError, TypeError, ValueError):
        return {}
    return {
        "classifier": float(tags.estimator_type == "classifier"),
        "regressor": float(tags.estimator_type == "regressor"),
        "several_targets": float(tags.target_tags.multi_output),
        "sparse_input": float(tags.input_tags.sparse),
        "missing_values": float(tags.input_tags.allow_nan),
        "probabilities": float(hasattr(estimator, "predict_proba")),
    }
