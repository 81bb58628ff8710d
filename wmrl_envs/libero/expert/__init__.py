"""A scripted expert for the tasks of libero_10, which sees the simulator's true state.

Skills (grasp, place, push, swing a door) run on one waypoint controller; each task has a short plan
of them. The expert makes demonstrations, graded failures, and rollouts without any weights.
"""

from wmrl_envs.libero.expert.plans import PLANS
from wmrl_envs.libero.expert.policy import ScriptedExpert
from wmrl_envs.libero.expert.variations import FAILURES, Failure

__all__ = ["FAILURES", "PLANS", "Failure", "ScriptedExpert"]
