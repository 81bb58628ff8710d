"""The reward arms on LIBERO: success is known after every episode, so every group is an anchor.

With all groups anchored, the world model would have no say; the corrections therefore count each
episode in both streams (``joint``), as in the embodied track of WMRL (arXiv 2608.12564), where
Robometer's dense reward and the sparse success of the same rollout are combined.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from wmrl_envs.benchmarks.autoresearch.arms import Arm

__all__ = ["ARMS"]


def _joint(**switches: Any) -> Mapping[str, Any]:
    return MappingProxyType({"method": "paper", "estimator_kwargs": {"joint": True}, **switches})


ARMS: Mapping[str, Arm] = MappingProxyType(
    {
        arm.name: arm
        for arm in (
            Arm("real", "sparse success (GRPO)", None, world_model=False),
            Arm("world-model", "pure world model", 0.0),
            Arm(
                "mixture",
                "uncorrected mixture",
                1.0,
                correction=_joint(debias=False, denoise=False),
            ),
            Arm("debias", "online debiasing alone", 1.0, correction=_joint(denoise=False)),
            Arm(
                "denoise", "inverse-variance denoising alone", 1.0, correction=_joint(debias=False)
            ),
            Arm("wmrl", "WMRL", 1.0, correction=_joint()),
        )
    }
)
