"""The two plans of ``wmrl bench libero-long``."""

from wmrl_envs.benchmarks.libero_long.compare import Plan
from wmrl_envs.benchmarks.libero_long.config import LiberoConfig

__all__ = ["full_plan", "quick_plan"]

_FAILURES = ("--failures", "drop", "miss", "misplace", "stop")


def full_plan(arms: tuple[str, ...], seeds: tuple[int, ...]) -> Plan:
    """Two tasks; hours on two cores."""
    base = LiberoConfig(
        tasks=(5, 6), horizon=240, steps=12, groups=6, seen_states=8, heldout_states=10, workers=1
    )
    return Plan(
        base=base,
        arms=arms,
        seeds=seeds,
        cloning=("--task", "5,6"),
        demonstrations=("--task", "5,6", "--states", "0-15", "--noise", "0.1", *_FAILURES),
        learning=("--held-out", "12-15", "--collapse", "potential"),
    )


def quick_plan(arms: tuple[str, ...], seed: int) -> Plan:
    """One short task, one seed: every part runs, no difference can be seen."""
    base = LiberoConfig(
        tasks=(5,),
        horizon=120,
        steps=2,
        groups=2,
        group_size=4,
        rollouts=2,
        seen_states=2,
        heldout_states=2,
        workers=1,
    )
    return Plan(
        base=base,
        arms=arms,
        seeds=(seed,),
        cloning=("--task", "5"),
        demonstrations=("--task", "5", "--states", "0-3,12", "--failures", "drop", "stop"),
        learning=("--held-out", "12", "--epochs", "4"),
    )
