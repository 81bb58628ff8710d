"""Trains GRPO on any registered environment: ``accelerate launch -m wmrl_envs.agents.train OUT``.

One process (``python -m wmrl_envs.agents.train OUT``) or many; wrappers come with ``--stack``.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
from gymnasium.vector import VectorEnv
from tyro.conf import Positional

import wmrl_envs  # noqa: F401 (registers the environments)
from wmrl_envs.agents.callbacks import CheckpointCallback
from wmrl_envs.agents.grpo import GRPO
from wmrl_envs.agents.policies.language_model import LanguageModelPolicy
from wmrl_envs.agents.settings import GRPOSettings

if TYPE_CHECKING:
    from accelerate import Accelerator

__all__ = ["TrainConfig", "load_policy", "main", "make_envs", "train"]

_CHECKPOINT, _POLICY, _EVENTS = "checkpoint.pt", "policy", "events"
_AUTORESEARCH = "WMRL/AutoResearch-v0"


@dataclass(frozen=True)
class TrainConfig:
    """What to train, on what, and for how long.

    Attributes:
        out: The run folder: checkpoint, events and, at the end, the policy. A run that finds its
            checkpoint there goes on from it.
        env: A registered environment id.
        env_kwargs: The environment's arguments, as a JSON object.
        stack: "module:function", called as ``function(env_id, num_envs, **env_kwargs)``, builds the
            vector environment with its wrappers; none: ``gymnasium.make_vec``.
        policy: "embedded", or a causal language model: a folder or a Hub id.
        policy_kwargs: Arguments of the policy, as a JSON object, ``{"max_new_tokens": 256}`` say.
        num_envs: Sub-environments of each process; a multiple of the group size.
        steps: Updates in all.
        checkpoint_every: Updates between checkpoints.
        settings: The settings of GRPO.
    """

    out: Positional[Path]
    env: str = _AUTORESEARCH
    env_kwargs: str = "{}"
    stack: str | None = None
    policy: str = "embedded"
    policy_kwargs: str = "{}"
    num_envs: int = 32
    steps: int = 40
    checkpoint_every: int = 10
    settings: GRPOSettings = field(default_factory=GRPOSettings)


def train(config: TrainConfig, accelerator: "Accelerator | None" = None) -> GRPO:
    """Trains and saves; every process of the accelerator calls this.

    Raises:
        ValueError: A setting cannot be; the message names it.
    """
    policy = load_policy(config, accelerator.device if accelerator else None)
    envs = [make_envs(config) for _ in range(config.settings.max_staleness + 1)]
    try:
        model = _learner(config, policy, envs, accelerator)
        model.learn(config.steps, CheckpointCallback(config.out / _CHECKPOINT, _every(config)))
        if model.is_main_process:
            policy.save(config.out / _POLICY)
        return model
    finally:
        for env in envs:
            env.close()


def load_policy(config: TrainConfig, device: Any = None) -> LanguageModelPolicy:
    """The policy at its start, on ``device``."""
    settings = _json_object("policy_kwargs", config.policy_kwargs)
    if config.policy != "embedded":
        return LanguageModelPolicy.from_pretrained(config.policy, device=device, **settings)
    from wmrl_envs.agents.embedded.policy import embedded_policy

    return embedded_policy(device=device, **settings)


def make_envs(config: TrainConfig) -> VectorEnv[Any, Any, Any]:
    """One process's vector environment.

    AutoResearch shows the embedded policy its cards, unless ``env_kwargs`` say something else.
    """
    kwargs = _json_object("env_kwargs", config.env_kwargs)
    if config.policy == "embedded" and config.env.endswith(_AUTORESEARCH):
        kwargs = {"observation": "card", "feedback": "none", **kwargs}
    build = gym.make_vec if config.stack is None else _imported(config.stack)
    envs = build(config.env, num_envs=config.num_envs, **kwargs)
    if not isinstance(envs, VectorEnv):
        raise ValueError(f"stack {config.stack!r} must return a VectorEnv, got {envs!r}")
    return envs


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line; processes that ``accelerate launch`` started find each other."""
    import tyro
    from accelerate import Accelerator

    config = tyro.cli(TrainConfig, args=arguments, description=__doc__)
    accelerator = Accelerator()
    if accelerator.is_main_process:
        logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        train(config, accelerator)
    finally:
        accelerator.end_training()


def _learner(
    config: TrainConfig,
    policy: LanguageModelPolicy,
    envs: Sequence[VectorEnv[Any, Any, Any]],
    accelerator: "Accelerator | None",
) -> GRPO:
    parts: dict[str, Any] = {
        "policy": policy,
        "envs": envs,
        "accelerator": accelerator,
        "tensorboard_log": config.out / _EVENTS,
        "verbose": 1,
    }
    if (config.out / _CHECKPOINT).is_file():
        return GRPO.load(config.out / _CHECKPOINT, **parts)
    return GRPO(settings=config.settings, **parts)


def _every(config: TrainConfig) -> int:
    if config.checkpoint_every < 1:
        raise ValueError(f"checkpoint_every must be >= 1, got {config.checkpoint_every!r}")
    return config.checkpoint_every


def _imported(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    found = getattr(import_module(module), attribute, None) if attribute else None
    if not callable(found):
        raise ValueError(f"stack must be 'module:function', got {name!r}")
    called: Callable[..., Any] = found
    return called


def _json_object(name: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{name} must be a JSON object, got {text!r}") from error
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be a JSON object, got {text!r}")
    return dict(value)


if __name__ == "__main__":
    main()
