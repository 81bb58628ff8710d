"""What a metric is: a function, its direction, and what a submission has to hold for it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

__all__ = ["Columns", "Extra", "Metric", "PredictionKind", "user_metric"]

PredictionKind = Literal["label", "probability", "value", "text"]
Columns = Literal["target", "class"]
Extra = Literal["none", "weight", "group", "id"]


@dataclass(frozen=True)
class Metric:
    """One metric of the registry, or a user's own.

    Attributes:
        name: The registry's key.
        function: ``(truth, prediction) -> float``, or with a third array if ``extra`` asks for one.
            Truth is (N,) or (N, targets); prediction has the same shape, or (N, classes) when
            ``columns`` is ``"class"``. Text is an (N,) object array. A ``ValueError`` says what is
            wrong with the predictions.
        higher_is_better: The direction.
        kind: ``label`` (hard class predictions), ``probability``, ``value`` or ``text``.
        columns: ``target``: one column for each target; ``class``: one column for each class.
        unit_interval: The predictions have to lie in [0, 1]. Metrics that look at nothing but the
            order of the predictions take any finite number.
        extra: What the third array holds: the rows' ``weight`` or ``group`` (a column of the
            answers), or their ``id``; ``none`` for two arrays.
        ordinal: Labels are integers whose distance counts.
        note: Where benchmarks of the same name compute something else.
    """

    name: str
    function: Callable[..., float]
    higher_is_better: bool
    kind: PredictionKind
    columns: Columns = "target"
    unit_interval: bool = False
    extra: Extra = "none"
    ordinal: bool = False
    note: str = ""

    def __call__(
        self, truth: np.ndarray, prediction: np.ndarray, extra: np.ndarray | None = None
    ) -> float:
        """Scores a prediction; infinite or NaN where the numbers overflow.

        Raises:
            ValueError: The metric is undefined here, or the predictions break its form.
        """
        arrays = (truth, prediction) if extra is None else (truth, prediction, extra)
        with np.errstate(all="ignore"):
            return float(self.function(*arrays))

    @property
    def is_binary(self) -> bool:
        """Scores the probability of one of two classes, if there is but one target."""
        return self.kind == "probability" and self.columns == "target"


def user_metric(
    function: Callable[..., float], higher_is_better: bool, kind: PredictionKind = "value"
) -> Metric:
    """Makes a metric of a function ``(truth, prediction) -> float``.

    Args:
        function: It gets float arrays for ``value`` and ``probability``, class codes for ``label``,
            object arrays of texts for ``text``.
        higher_is_better: The direction.
        kind: What a submission holds; build a :class:`Metric` for more control.

    Raises:
        TypeError: ``function`` is not callable or ``higher_is_better`` no bool.
        ValueError: ``kind`` is unknown.

    Example:
        >>> worst = user_metric(lambda truth, values: abs(truth - values).max(), False)
        >>> worst(np.array([1.0, 2.0]), np.array([1.0, 5.0]))
        3.0
    """
    if not callable(function):
        raise TypeError(f"metric must be a name, a Metric or a function, got {function!r}")
    if not isinstance(higher_is_better, bool):
        raise TypeError(
            "a metric that is a function needs higher_is_better=True or False, "
            f"got {higher_is_better!r}"
        )
    if kind not in get_args(PredictionKind):
        raise ValueError(f"kind must be one of {get_args(PredictionKind)}, got {kind!r}")
    return Metric(getattr(function, "__name__", "metric"), function, higher_is_better, kind)


def sklearn_metrics() -> Any:
    """scikit-learn's metrics, loaded at the first grading: the import takes a second."""
    import sklearn.metrics

    return sklearn.metrics
