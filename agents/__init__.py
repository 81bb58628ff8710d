"""The learners: GRPO, its policies, and evaluation. Nothing heavy is imported before it is used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wmrl_envs.agents.advantages import Advantages, group_advantages
    from wmrl_envs.agents.callbacks import (
        BaseCallback,
        CallbackList,
        CheckpointCallback,
        EvalCallback,
        ProgressBarCallback,
    )
    from wmrl_envs.agents.diagnostics import DiagnosticsCallback
    from wmrl_envs.agents.evaluation import Evaluation, clustered_interval, evaluate
    from wmrl_envs.agents.grpo import GRPO
    from wmrl_envs.agents.history import HistoryObservation
    from wmrl_envs.agents.policies.base import TokenBatch, TokenLogProbs, TokenPolicy
    from wmrl_envs.agents.policies.chat import ChatPolicy
    from wmrl_envs.agents.policies.language_model import LanguageModelPolicy
    from wmrl_envs.agents.policies.vla.minivla import MiniVLA
    from wmrl_envs.agents.policies.vla.policy import VLAPolicy
    from wmrl_envs.agents.policies.vla.pretrained import LeRobotPolicy, OpenVLA
    from wmrl_envs.agents.policies.vla.tiny import TinyVLA
    from wmrl_envs.agents.rollout import Rollout, collect
    from wmrl_envs.agents.settings import GRPOSettings
    from wmrl_envs.agents.tracking import TrackingCallback
    from wmrl_envs.agents.trl import WMRLGRPOTrainer
    from wmrl_envs.agents.trl_spec import WMRLSpec

_HOMES = {
    "Advantages": "advantages",
    "group_advantages": "advantages",
    "BaseCallback": "callbacks",
    "CallbackList": "callbacks",
    "CheckpointCallback": "callbacks",
    "EvalCallback": "callbacks",
    "ProgressBarCallback": "callbacks",
    "DiagnosticsCallback": "diagnostics",
    "Evaluation": "evaluation",
    "clustered_interval": "evaluation",
    "evaluate": "evaluation",
    "GRPO": "grpo",
    "GRPOSettings": "settings",
    "HistoryObservation": "history",
    "ChatPolicy": "policies.chat",
    "LanguageModelPolicy": "policies.language_model",
    "LeRobotPolicy": "policies.vla.pretrained",
    "MiniVLA": "policies.vla.minivla",
    "OpenVLA": "policies.vla.pretrained",
    "Rollout": "rollout",
    "collect": "rollout",
    "TinyVLA": "policies.vla.tiny",
    "TokenBatch": "policies.base",
    "TokenLogProbs": "policies.base",
    "TokenPolicy": "policies.base",
    "TrackingCallback": "tracking",
    "VLAPolicy": "policies.vla.policy",
    "WMRLGRPOTrainer": "trl",
    "WMRLSpec": "trl_spec",
}

__all__ = [
    "GRPO",
    "Advantages",
    "BaseCallback",
    "CallbackList",
    "ChatPolicy",
    "CheckpointCallback",
    "DiagnosticsCallback",
    "EvalCallback",
    "Evaluation",
    "GRPOSettings",
    "HistoryObservation",
    "LanguageModelPolicy",
    "LeRobotPolicy",
    "MiniVLA",
    "OpenVLA",
    "ProgressBarCallback",
    "Rollout",
    "TinyVLA",
    "TokenBatch",
    "TokenLogProbs",
    "TokenPolicy",
    "TrackingCallback",
    "VLAPolicy",
    "WMRLGRPOTrainer",
    "WMRLSpec",
    "clustered_interval",
    "collect",
    "evaluate",
    "group_advantages",
]


def __getattr__(name: str) -> Any:
    """Imports a public name from its module when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Lists the public names."""
    return sorted(__all__)
