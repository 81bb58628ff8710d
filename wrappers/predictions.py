"""Loading a world model and checking what it answers."""

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models.base import Episode, Prediction, WorldModel
from wmrl_envs.wrappers.world_models.callable import CallableWorldModel, listed

__all__ = [
    "NO_OPINION",
    "OnError",
    "WorldModelLike",
    "check_on_error",
    "load_world_model",
    "predict",
]

OnError = Literal["raise", "ungraded"]
WorldModelLike = WorldModel | Callable[[Sequence[Episode]], Any] | type | str

NO_OPINION = Prediction(None)


def load_world_model(
    world_model: WorldModelLike, kwargs: Mapping[str, Any] | None = None
) -> WorldModel:
    """Makes a world model of whatever names one.

    Args:
        world_model: An object with ``predict``, a function of episodes, a class, or the
            ``"module:Name"`` of one of these.
        kwargs: Arguments for the class.

    Raises:
        TypeError: It is none of these, or ``kwargs`` are given for something that is no class.
        ValueError: The string is not of the form ``"module:Name"`` or names nothing.

    Example:
        >>> model = load_world_model(lambda episodes: [0.5] * len(episodes))
        >>> model.predict([Episode(task="", actions=())])
        [Prediction(reward=0.5, feedback='', std=None)]
    """
    found = _imported(world_model) if isinstance(world_model, str) else world_model
    if isinstance(found, type):
        found = found(**(kwargs or {}))
    elif kwargs:
        raise TypeError(f"world_model_kwargs need a class as world_model, got {world_model!r}")
    if callable(getattr(found, "predict", None)):
        return found  # type: ignore[return-value]
    if callable(found):
        return CallableWorldModel(found)
    raise TypeError(
        "world_model must be an object with predict(episodes), a function of episodes, a class or "
        f'"module:Name", got {world_model!r}'
    )


def _imported(name: str) -> Any:
    module, separator, attribute = name.partition(":")
    if not (module and separator and attribute):
        raise ValueError(f'world_model must look like "module:Name", got {name!r}')
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"world_model {name!r} cannot be imported: {error}") from error


def check_on_error(on_error: str) -> None:
    """Raises ValueError unless ``on_error`` is "raise" or "ungraded"."""
    if on_error not in get_args(OnError):
        raise ValueError(f"on_error must be one of {get_args(OnError)}, got {on_error!r}")


def predict(
    world_model: WorldModel, episodes: Sequence[Episode], on_error: OnError = "raise"
) -> list[Prediction]:
    """Asks a world model and checks its answer.

    Args:
        world_model: The model.
        episodes: N episodes; the model is not asked about none.
        on_error: "raise" makes any fault a :class:`WorldModelError`. "ungraded" makes a faulty
            prediction "no opinion", and all N of them if the model raises or answers with another
            number of predictions.

    Returns:
        N predictions, each with a finite reward or None.

    Raises:
        WorldModelError: The model is at fault and ``on_error`` is "raise".
    """
    if not episodes:
        return []
    try:
        return _asked(world_model, episodes, on_error)
    except WorldModelError:
        if on_error == "raise":
            raise
        return [NO_OPINION] * len(episodes)


def _asked(
    world_model: WorldModel, episodes: Sequence[Episode], on_error: OnError
) -> list[Prediction]:
    try:
        # A list of its own: what the model does to it is its own affair.
        answers = listed(world_model.predict(list(episodes)))
    except Exception as error:
        raise WorldModelError(f"{_name(world_model)}.predict raised {error!r}") from error
    if len(answers) != len(episodes):
        raise WorldModelError(
            f"{_name(world_model)}.predict must return {len(episodes)} predictions, one an "
            f"episode, got {len(answers)}"
        )
    faults = [_fault(answer) for answer in answers]
    if any(faults) and on_error == "raise":
        place = next(i for i, fault in enumerate(faults) if fault)
        raise WorldModelError(f"{_name(world_model)}.predict: prediction {place} {faults[place]}")
    pairs = zip(answers, faults, strict=True)
    return [NO_OPINION if fault else _prediction(answer) for answer, fault in pairs]


def _fault(answer: Any) -> str | None:
    is_prediction = isinstance(answer, Prediction)
    reward = answer.reward if is_prediction else answer
    if is_prediction and not isinstance(answer.feedback, str):
        return f"must have a string as feedback, got {answer.feedback!r}"
    return _number_fault(reward) or (_std_fault(answer.std) if is_prediction else None)


def _std_fault(std: Any) -> str | None:
    if fault := _number_fault(std):
        return f"has a std that {fault}"
    return None if std is None or std >= 0 else f"must have a std of at least 0, got {std!r}"


def _number_fault(number: Any) -> str | None:
    if number is None:
        return None
    if isinstance(number, (bool, np.bool_)) or not isinstance(
        number, (int, float, np.integer, np.floating)
    ):
        return f"must be a number or None, got {number!r}"
    return None if _is_finite(number) else f"must be finite, got {number!r:.40}"


def _is_finite(number: Any) -> bool:
    """Whether it is a finite float; an int may be too large for one."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _prediction(answer: Any) -> Prediction:
    if not isinstance(answer, Prediction):
        answer = Prediction(answer)
    if answer.reward is None:
        return answer
    std = None if answer.std is None else float(answer.std)
    return Prediction(float(answer.reward), answer.feedback, std)


def _name(world_model: WorldModel) -> str:
    return type(world_model).__name__
