"""Settings that suit a policy, where those of the embedded one do not."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["preset"]

_SMOLLM2: Mapping[str, Any] = MappingProxyType(
    {
        "world_model": "policy",
        "steps": 40,
        "groups": 4,
        "group_size": 6,
        "anchors": 0.5,
        "refit_every": 0,
        "log_episodes": 36,
        "train_tasks": ("concrete", "digits", "diabetes", "meats-nir", "digits-parity"),
        "test_tasks": ("olive-area", "mnist-4v9"),
        "learning_rate": 5e-4,
        "inner_epochs": 1,
        "kl_coef": 0.0,
        "eval_every": 10,
        "eval_episodes": 20,
        "final_episodes": 20,
        "checkpoint_every": 4,
    }
)
"""Small groups, since a processor takes some ten seconds a step; executions cost less."""

_QUICK: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "embedded": MappingProxyType(
            {"steps": 8, "log_episodes": 80, "eval_episodes": 12, "final_episodes": 24}
        ),
        "smollm2": MappingProxyType({"steps": 14, "log_episodes": 24, "eval_every": 7}),
    }
)


def preset(policy: str, quick: bool = False) -> dict[str, Any]:
    """The settings that a policy starts from, beside the defaults.

    Args:
        policy: The run's ``policy``.
        quick: Settings of a run of minutes, that shows that everything works.

    Example:
        >>> preset("embedded"), preset("smollm2", quick=True)["steps"]
        ({}, 14)
    """
    settings = dict(_SMOLLM2) if policy == "smollm2" else {}
    return settings | dict(_QUICK.get(policy, _QUICK["embedded"]) if quick else {})
