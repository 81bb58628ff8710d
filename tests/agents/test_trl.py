"""WMRL on TRL's trainer, with a tiny model on the CPU."""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("trl")

from datasets import Dataset
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from wmrl_envs.agents.advantages import group_advantages
from wmrl_envs.agents.trl import WMRLGRPOTrainer, check_trl
from wmrl_envs.agents.trl_rewards import on_anchors
from wmrl_envs.wrappers.estimators.anchors import AnchorDraw
from wmrl_envs.wrappers.estimators.correction import Correction

pytestmark = pytest.mark.model

GROUP_SIZE, GROUPS = 4, 5


def true_reward(completion: str) -> float:
    """The share of the first half of the alphabet."""
    return sum(c in "abcdefghijklm" for c in completion) / 8


class World:
    """A biased, noisy world model and the measurement, which counts what it is asked for."""

    def __init__(self) -> None:
        self.measured: list[str] = []
        self.seen: list[tuple[np.ndarray, np.ndarray]] = []

    def measure(self, completions: list[str], **columns: Any) -> list[float]:
        self.measured += completions
        return [true_reward(c) for c in completions]

    def predict(self, completions: list[str], **columns: Any) -> list[float]:
        return [0.3 + 0.7 * true_reward(c) ** 2 + 0.001 * len(c) for c in completions]


class Spy(Correction):
    """Keeps what it was given."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.batches: list[tuple[np.ndarray, ...]] = []

    def correct(self, predicted: Any, measured: Any, anchor: Any, using: Any = None) -> Any:
        result = super().correct(predicted, measured, anchor, using)
        self.batches.append((result.reward, result.weight, anchor))
        return result


@pytest.fixture
def make_trainer(
    make_model: Callable[..., LlamaForCausalLM], tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> Callable[..., WMRLGRPOTrainer]:
    def build(world: World, method: str = "rectified", **settings: Any) -> WMRLGRPOTrainer:
        arguments = {k: settings.pop(k) for k in ("scale", "std_floor") if k in settings}
        evaluation = settings.pop("eval_dataset", None)
        defaults = {
            "output_dir": str(tmp_path / "run"),
            "per_device_train_batch_size": GROUP_SIZE * GROUPS,
            "num_generations": GROUP_SIZE,
            "max_completion_length": 8,
            "max_steps": 3,
            "learning_rate": 1e-2,
            "lr_scheduler_type": "constant",
            "use_cpu": True,
            "bf16": False,
            "gradient_checkpointing": False,
            "report_to": "none",
            "save_strategy": "no",
            "logging_steps": 1,
            "disable_tqdm": True,
            "seed": 3,
        }
        return WMRLGRPOTrainer(
            make_model(0),
            measure=world.measure,
            predict=world.predict,
            anchors=AnchorDraw(0.4, seed=1),
            correction=Spy(method, fraction=0.4),
            args=GRPOConfig(**{**defaults, **settings}),
            train_dataset=Dataset.from_dict({"prompt": [f"{c}>" for c in "abcdefghij"]}),
            eval_dataset=evaluation,
            processing_class=tokenizer,
            **arguments,
        )

    return build


def spy_on_advantages(trainer: WMRLGRPOTrainer) -> list[torch.Tensor]:
    """Collects the advantages of each generation, in the order of its rows."""
    found: list[torch.Tensor] = []
    original = trainer._generate_and_score_completions

    def spied(inputs: Any) -> Any:
        output = original(inputs)
        found.append(output["advantages"].clone())
        return output

    trainer._generate_and_score_completions = spied
    return found


@pytest.mark.parametrize("method", ["rectified", "paper"])
@pytest.mark.parametrize("scale", ["batch", "group", "none"])
def test_advantages_are_those_of_our_own_grpo_on_the_same_rewards(
    make_trainer: Callable[..., WMRLGRPOTrainer], method: str, scale: str
) -> None:
    trainer = make_trainer(World(), method, scale=scale)
    found = spy_on_advantages(trainer)
    trainer.train()
    groups = np.arange(GROUP_SIZE * GROUPS) // GROUP_SIZE
    assert len(found) == 3
    for advantages, (reward, weight, _) in zip(found, trainer.correction.batches, strict=True):
        ours = group_advantages(reward, groups, weights=weight, scale=scale).values
        np.testing.assert_allclose(advantages.numpy(), ours, atol=1e-5)
        assert np.abs(ours).max() > 0


def test_measuring_is_paid_for_anchor_groups_alone(
    make_trainer: Callable[..., WMRLGRPOTrainer],
) -> None:
    world = World()
    trainer = make_trainer(world, max_steps=4)
    trainer.train()
    assert len(world.measured) == 0.4 * 4 * GROUPS * GROUP_SIZE
    logged = trainer.state.log_history[0]
    assert logged["wmrl/anchor_share"] == pytest.approx(0.4)
    assert np.isfinite(logged["wmrl/predicted_reward"] + logged["wmrl/measured_reward"])


def test_the_policy_learns(make_trainer: Callable[..., WMRLGRPOTrainer]) -> None:
    trainer = make_trainer(World(), max_steps=40)
    trainer.train()
    rewards = [log["wmrl/measured_reward"] for log in trainer.state.log_history[:-1]]
    assert np.nanmean(rewards[-10:]) > np.nanmean(rewards[:10]) + 0.1


def test_accumulation_draws_the_same_anchors_and_learns_from_each_pair_once(
    make_trainer: Callable[..., WMRLGRPOTrainer],
) -> None:
    world = World()
    trainer = make_trainer(
        world, per_device_train_batch_size=GROUP_SIZE, gradient_accumulation_steps=GROUPS
    )
    trainer.train()
    anchors = np.concatenate([anchor for _, _, anchor in trainer.correction.batches])
    expected = AnchorDraw(0.4, seed=1)(np.arange(3 * GROUPS)).repeat(GROUP_SIZE)
    assert np.array_equal(anchors, expected) and len(world.measured) == expected.sum()


def test_a_group_that_nobody_could_grade_has_no_advantage_and_is_never_a_zero(
    make_trainer: Callable[..., WMRLGRPOTrainer],
) -> None:
    world = World()
    world.measure = lambda completions, **_: [None] * len(completions)  # type: ignore[method-assign]
    trainer = make_trainer(world, max_steps=2)
    found = spy_on_advantages(trainer)
    trainer.train()
    for advantages, (reward, _, anchor) in zip(found, trainer.correction.batches, strict=True):
        assert np.isnan(reward[anchor]).all() and not np.isnan(reward[~anchor]).any()
        assert (advantages.numpy()[anchor] == 0.0).all()
        assert advantages.numpy()[~anchor].any() and torch.isfinite(advantages).all()


def test_evaluation_measures_all_and_leaves_the_correction_alone(
    make_trainer: Callable[..., WMRLGRPOTrainer],
) -> None:
    world = World()
    evaluation = Dataset.from_dict({"prompt": ["a>", "b>", "c>", "d>"]})
    trainer = make_trainer(
        world,
        eval_dataset=evaluation,
        per_device_eval_batch_size=GROUP_SIZE,
        num_generations_eval=2,
    )
    trainer.train()
    before, world.measured = trainer.correction.state_dict(), []
    logged = trainer.evaluate()
    after = trainer.correction.state_dict()
    assert all(np.array_equal(before[key], after[key]) for key in before)
    assert len(world.measured) == 4 * 2
    expected = np.mean([true_reward(c) for c in world.measured])
    assert logged["eval_reward"] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "at", [1, 2, 3]
)  # within the first epoch of two steps, at its end, after it
def test_a_resumed_run_ends_with_the_same_bits(
    make_trainer: Callable[..., WMRLGRPOTrainer], tmp_path: Path, at: int
) -> None:
    settings = {"save_strategy": "steps", "save_steps": 1, "max_steps": 5}
    whole = make_trainer(World(), output_dir=str(tmp_path / "whole"), **settings)
    whole.train()
    resumed = make_trainer(World(), output_dir=str(tmp_path / "resumed"), **settings)
    resumed.train(resume_from_checkpoint=str(tmp_path / "whole" / f"checkpoint-{at}"))
    ours, theirs = whole.correction.state_dict(), resumed.correction.state_dict()
    assert all(np.array_equal(ours[key], theirs[key]) for key in ours)
    for a, b in zip(whole.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.slow
def test_two_processes_agree_even_where_a_group_straddles_them(tmp_path: Path) -> None:
    script = Path(__file__).parent / "trl_two_processes.py"
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*launch, str(script), str(tmp_path)],
        capture_output=True, text=True, timeout=240,
        env={**os.environ, "PYTHONPATH": str(script.parent.parent), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    first, second = (np.load(tmp_path / f"rank{rank}.npz") for rank in (0, 1))
    assert set(first.files) == set(second.files)
    assert first["anchors"] == 4 * 12 * 0.5  # steps, rows, fraction
    assert all(np.array_equal(first[key], second[key]) for key in first.files)


def test_async_measuring_sees_the_anchors_alone() -> None:
    import asyncio

    async def measure(prompts: list[str], task: list[int], trainer_state: str) -> list[float]:
        assert trainer_state == "state"
        return [float(t) for t in task]

    found = on_anchors(measure)(
        prompts=["a", "b", "c"],
        task=[1, 2, 3],
        wmrl_anchor=[True, False, True],
        trainer_state="state",
    )
    assert asyncio.run(found) == [1.0, None, 3.0]


def test_nothing_is_called_where_no_row_is_an_anchor() -> None:
    def measure(**_: Any) -> list[float]:
        raise AssertionError("called")

    assert on_anchors(measure)(prompts=["a"], wmrl_anchor=[False]) == [None]


def test_extra_columns_are_logged_at_the_rows_of_the_anchors() -> None:
    logged: dict[str, list[Any]] = {}

    def measure(prompts: list[str], log_extra: Callable[..., None]) -> list[float]:
        log_extra("what", prompts)
        return [1.0] * len(prompts)

    on_anchors(measure)(prompts=["a", "b"], wmrl_anchor=[False, True], log_extra=logged.__setitem__)
    assert logged == {"what": [None, "b"]}


def test_a_measure_that_answers_for_too_few_rows_is_named() -> None:
    with pytest.raises(ValueError, match="returned 1 rewards for 2 completions"):
        on_anchors(lambda **_: [1.0])(prompts=["a", "b"], wmrl_anchor=[True, True])


def test_the_installed_trl_has_the_methods_that_are_overridden() -> None:
    check_trl(GRPOTrainer)


def test_a_trl_with_other_methods_is_refused_by_name() -> None:
    class Other(GRPOTrainer):
        def _calculate_rewards(self, batch: Any) -> None: ...

    with pytest.raises(ImportError, match="_calculate_rewards"):
        check_trl(Other)


def test_what_the_trainer_settles_itself_is_refused(
    make_trainer: Callable[..., WMRLGRPOTrainer],
) -> None:
    with pytest.raises(ValueError, match="multi_objective_aggregation"):
        make_trainer(World(), multi_objective_aggregation="normalize_then_sum")
    arguments = inspect.signature(WMRLGRPOTrainer.__init__).parameters
    assert "reward_funcs" not in arguments
