"""What scikit-learn itself says of the estimators that a script makes, without fitting any.

A script such as ``m = SVC(C=1.0)`` followed by ``m.predict_proba(T)`` fails for certain, and a
classifier's tags tell whether it takes sparse input, missing values or several targets. Only public
classes of scikit-learn are made, and only with literal arguments.
"""

import ast
import importlib
import inspect
from functools import lru_cache
from typing import Any

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


def estimator_facts(tree: ast.Module) -> dict[str, float]:
    """Facts about the scikit-learn estimators that module-level statements make.

    Args:
        tree: The parsed script.

    Returns:
        ``rejected_arguments`` (constructors that raise), ``missing_methods`` (calls of methods that the
        estimator lacks), and of the last estimator that predicts, each 0 or 1: ``classifier``,
        ``regressor``, ``several_targets``, ``sparse_input``, ``missing_values`` (what it accepts) and
        ``probabilities`` (whether it gives them).
    """
    facts = dict.fromkeys(ESTIMATOR_FACTS, 0.0)
    imported: dict[str, tuple[str, str]] = {}
    made: dict[str, Any] = {}
    for statement in tree.body:
        imported |= _imported(statement)
        for call in (node for node in ast.walk(statement) if isinstance(node, ast.Call)):
            if isinstance(call.func, ast.Name) and call.func.id in imported:
                estimator = _make(*imported[call.func.id], _literal_arguments(call))
                facts["rejected_arguments"] += estimator is _REJECTED
                if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                    made[statement.targets[0].id] = estimator
            elif isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
                estimator = made.get(call.func.value.id)
                if estimator is not None and estimator is not _REJECTED:
                    facts["missing_methods"] += not hasattr(estimator, call.func.attr)
    for estimator in made.values():
        if hasattr(estimator, "predict"):
            facts |= _tags(estimator)
    return facts


_REJECTED = object()
"""Stands for an estimator whose constructor raised."""


def _imported(statement: ast.stmt) -> dict[str, tuple[str, str]]:
    """Names that a statement imports from scikit-learn, with where they come from."""
    if not isinstance(statement, ast.ImportFrom) or statement.level:
        return {}
    module = statement.module or ""
    if module.split(".")[0] != "sklearn" or "._" in module:
        return {}
    return {alias.asname or alias.name: (module, alias.name) for alias in statement.names}


def _literal_arguments(call: ast.Call) -> tuple[tuple[str, Any], ...] | None:
    """The keyword arguments, or None where one of them is no literal that can be hashed."""
    try:
        arguments = tuple((k.arg or "", ast.literal_eval(k.value)) for k in call.keywords)
        hash(arguments)
    except (ValueError, TypeError):
        return None
    return arguments


@lru_cache(maxsize=4096)
def _make(module: str, name: str, arguments: tuple[tuple[str, Any], ...] | None) -> Any:
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


def _tags(estimator: Any) -> dict[str, float]:
    from sklearn.utils import get_tags

    tags = get_tags(estimator)
    return {
        "classifier": float(tags.estimator_type == "classifier"),
        "regressor": float(tags.estimator_type == "regressor"),
        "several_targets": float(tags.target_tags.multi_output),
        "sparse_input": float(tags.input_tags.sparse),
        "missing_values": float(tags.input_tags.allow_nan),
        "probabilities": float(hasattr(estimator, "predict_proba")),
    }
