"""What a user may say about a task in another benchmark's folders."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from wmrl_envs.autoresearch.formats.layout import Layout
from wmrl_envs.autoresearch.formats.registry import Facts
from wmrl_envs.autoresearch.metrics import Metric, PredictionKind, get_metric, user_metric
from wmrl_envs.autoresearch.spec import MODALITIES
from wmrl_envs.errors import TaskFormatError

__all__ = ["TIME_LIMIT", "Options", "PathLike", "check_options", "choose_metric"]

TIME_LIMIT: Final = 600.0
"""Wall seconds of one execution."""

PathLike = str | os.PathLike[str]

_LONGEST: Final = 1e9


@dataclass(frozen=True)
class Options:
    """The arguments of :func:`~wmrl_envs.autoresearch.formats.load_task`."""

    name: str | None = None
    metric: str | Metric | Callable[..., float] | None = None
    higher_is_better: bool | None = None
    kind: PredictionKind = "value"
    leaderboards: PathLike | Sequence[PathLike] | None = None
    gap: tuple[float, float] | None = None
    modality: str | None = None
    time_limit: float = TIME_LIMIT
    data: Mapping[PathLike, str] | None = None
    strict_paper: bool = False


def check_options(options: Options) -> None:
    """Refuses impossible values.

    Raises:
        ValueError: The modality or the time limit is impossible.
    """
    if options.modality not in (None, *MODALITIES):
        choices = ", ".join(MODALITIES)
        raise ValueError(f"modality must be one of {choices}, got {options.modality!r}")
    if not 0 < options.time_limit < _LONGEST:
        raise ValueError(
            f"time_limit must be a positive number of seconds, got {options.time_limit!r}"
        )


def choose_metric(layout: Layout, known: Facts, options: Options) -> Metric:
    """The metric that the user names, else the one that the registry knows.

    Raises:
        TaskFormatError: Nothing is known of it.
        TypeError: A function has no direction.
        ValueError: The name is unknown, or the direction is another one.
    """
    given = options.metric
    if given is None:
        return get_metric(_known_metric(layout, known))
    if isinstance(given, str):
        given = get_metric(given)
    if isinstance(given, Metric):
        if options.higher_is_better not in (None, given.higher_is_better):
            raise ValueError(
                f"higher_is_better={options.higher_is_better} contradicts metric {given.name!r}"
            )
        return given
    return user_metric(given, cast("bool", options.higher_is_better), options.kind)


def _known_metric(layout: Layout, known: Facts) -> str:
    name = known.metric_for(layout.format)
    if name is None:
        why = f"its metric ({known.family}) is not in" if known.family else "it is unknown to"
        raise TaskFormatError(
            f"{layout.public}: task {layout.name!r} needs metric=…, as {why} the registry; pass a "
            "name, or a function together with higher_is_better"
        )
    return name
