"""What can be read off a (task text, script) pair without running anything."""

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import cast

import numpy as np

from wmrl_envs.wrappers.world_models.estimator_facts import ESTIMATOR_FACTS, estimator_facts
from wmrl_envs.wrappers.world_models.mismatches import CALLED, MISMATCHES, mismatches
from wmrl_envs.wrappers.world_models.names import undefined_names
from wmrl_envs.wrappers.world_models.syntax import descendants

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|\d+\.?\d*|\"[^\"\n]*\"|'[^'\n]*'")
_TASK_NUMBER = re.compile(r"([A-Za-z_]+):? (\d+(?:\.\d+)?)")
_TASK_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_TASK_CHARACTERS = 4000
_LARGEST_NUMBER = 1e30
_CALLS = {
    "reads": ("read_", "load", "open"),
    "writes": ("to_",),
    "fits": ("fit",),
    "predicts": ("predict", "decision"),
    **CALLED,
}
_LINT = ("unparsable", "undefined", "imports", "statements", *_CALLS)
_FACTS = (*_LINT, *ESTIMATOR_FACTS)


def script_facts(code: str) -> dict[str, float]:
    """Counts that a linter could make.

    Args:
        code: Python source.

    Returns:
        ``unparsable`` (0 or 1), ``undefined`` (the number of undefined names), ``imports``,
        ``statements``, and the numbers of calls whose name starts with ``read_``, ``load`` or
        ``open``, with ``to_``, with ``fit``, and with ``predict`` or ``decision``; what
        :data:`~wmrl_envs.wrappers.world_models.mismatches.CALLED` names; and the facts of
        :func:`~wmrl_envs.wrappers.world_models.estimator_facts.estimator_facts`.
    """
    facts = dict.fromkeys(_FACTS, 0.0)
    try:
        tree = _parse(code)
        facts["undefined"] = float(len(undefined_names(tree)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return facts | {"unparsable": 1.0}
    facts["statements"] = float(len(tree.body))
    nodes = [descendants(statement) for statement in tree.body]
    for node in chain.from_iterable(nodes):
        kind = type(node)
        if kind is ast.Call:
            for fact in _named_for(_called_name(node)):
                facts[fact] += 1
        elif kind is ast.Import or kind is ast.ImportFrom:
            facts["imports"] += 1
    return facts | estimator_facts(tree, nodes)


def _called_name(call: ast.AST) -> str:
    function = cast("ast.Call", call).func
    return getattr(function, "attr", getattr(function, "id", ""))


@lru_cache(maxsize=4096)
def _named_for(name: str) -> tuple[str, ...]:
    """The facts that a call of a function of this name counts for."""
    return tuple(fact for fact, starts in _CALLS.items() if name.startswith(starts))


def _parse(code: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


class ScriptFeatures:
    """Turns (task text, script) pairs into vectors: which lines and words there are, and facts.

    Words count alone and in neighbouring pairs. The vocabulary is what the fitted pairs show often
    enough: at least ``min_count`` times, and not always.

    Args:
        vocabulary_size: The largest number of presence features.
        min_count: How often a token must be seen.

    Raises:
        ValueError: An argument is not positive.

    Example:
        >>> features = ScriptFeatures(min_count=1).fit([("rows 10", "x = 1"), ("rows 20", "y = 2")])
        >>> features.transform([("rows 10", "x = 1")]).shape[0]
        1
    """

    def __init__(self, vocabulary_size: int = 250, min_count: int = 3) -> None:
        for name, value in (("vocabulary_size", vocabulary_size), ("min_count", min_count)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")
        self.vocabulary_size = vocabulary_size
        self.min_count = min_count
        self._tokens: dict[str, int] = {}
        self._numbers: dict[str, int] = {}

    def fit(self, pairs: Sequence[tuple[str, str]]) -> "ScriptFeatures":
        """Learns the vocabulary.

        Args:
            pairs: (task text, script) pairs.

        Raises:
            ValueError: ``pairs`` is empty.
        """
        if not pairs:
            raise ValueError("pairs must not be empty, got 0 (task, script) pairs")
        counts = Counter(
            token for task, code in pairs for token in {*_task_tokens(task), *_code_tokens(code)}
        )
        often = [t for t, n in counts.items() if self.min_count <= n < len(pairs)]
        # Ties in alphabetical order: that of a set of strings differs from process to process.
        often.sort(key=lambda token: (-counts[token], token))
        self._tokens = {token: i for i, token in enumerate(often[: self.vocabulary_size])}
        names = sorted({name for task, _ in pairs for name in _numbers(task)})
        self._numbers = {name: i for i, name in enumerate(names)}
        return self

    def transform(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """Returns (N, F) float32 features; an unseen token counts for nothing."""
        width = len(self._tokens) + len(self._numbers) + len(_FACTS) + len(MISMATCHES)
        facts_at = len(self._tokens) + len(self._numbers)
        features = np.zeros((len(pairs), width), dtype=np.float32)
        # Many scripts are of few tasks.
        of_task = {task: self._task_row(task) for task in dict(pairs)}
        for row, (task, code) in zip(features, pairs, strict=True):
            row[:facts_at] = of_task[task]
            row[self._columns(_code_tokens(code))] = 1.0
            facts = script_facts(code)
            row[facts_at:] = [*facts.values(), *mismatches(task, facts).values()]
        return features

    def _columns(self, tokens: Iterable[str]) -> list[int]:
        return [self._tokens[token] for token in tokens if token in self._tokens]

    def _task_row(self, task: str) -> np.ndarray:
        row = np.zeros(len(self._tokens) + len(self._numbers), dtype=np.float32)
        row[self._columns(_task_tokens(task))] = 1.0
        for name, value in _numbers(task).items():
            if name in self._numbers:
                row[len(self._tokens) + self._numbers[name]] = value
        return row


def _numbers(task: str) -> dict[str, float]:
    found = _TASK_NUMBER.findall(task[:_TASK_CHARACTERS])
    return {name: min(float(value), _LARGEST_NUMBER) for name, value in found}


def _task_tokens(task: str) -> Iterator[str]:
    words = _TASK_WORD.findall(task[:_TASK_CHARACTERS])
    yield from (f"task {a}" for a in words)
    yield from (f"task {a} {b}" for a, b in pairwise(words))


def _code_tokens(code: str) -> Iterator[str]:
    yield from (f"line {line}" for line in code.split("\n") if line)
    words = _WORD.findall(code)
    yield from (f"word {a}" for a in words)
    yield from (f"pair {a} {b}" for a, b in pairwise(words))
