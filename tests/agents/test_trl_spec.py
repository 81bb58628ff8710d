"""An environment in TRL's trainers, through one object; the generations are scripted."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("trl")

from testing_runs import InstantSandbox
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer

from wmrl_envs.agents import WMRLGRPOTrainer, WMRLSpec
from wmrl_envs.wrappers.estimators.anchors import AnchorDraw
from wmrl_envs.wrappers.estimators.correction import Correction
from wmrl_envs.wrappers.world_models.base import Prediction

pytestmark = [
    pytest.mark.model,
    pytest.mark.filterwarnings("ignore:You are using 'environment_factory'"),
]

ENV, GROUP, GROUPS = "WMRL/AutoResearch-v0", 4, 5
TASK = {"tasks": ("concrete", "digits"), "observation": "card"}


class CountingWorldModel:
    """Likes long programs, and says so."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def predict(self, episodes: Any) -> list[Prediction]:
        self.asked += episodes
        return [Prediction(min(1.0, len(e.actions[-1]) / 60), "so it seems") for e in episodes]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    """A few hundred tokens, and a chat template that knows tools."""
    trl = Path(inspect.getfile(GRPOTrainer)).parent.parent
    template = (trl / "chat_templates" / "qwen3.jinja").read_text()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
    special += ["<tool_response>", "</tool_response>", "<think>", "</think>"]
    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    learned = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    pieces.train_from_iterator([template], learned)
    found = PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
    )
    found.chat_template = template
    return found


def qwen(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, head_dim=16, max_position_embeddings=2048,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )  # fmt: skip
    return Qwen3ForCausalLM(config)


def scripted(kind: type, turns: int) -> type:
    """A trainer whose model calls the tool ``turns`` times with programs of its own, then ends."""

    class Scripted(kind):  # type: ignore[misc]
        calls = 0

        def _generate_single_turn(self, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
            return [self._written(ids) for ids in prompt_ids], None

        def _written(self, ids: Any) -> Any:
            Scripted.calls += 1
            said = self._tokenizer.decode(ids).count("<tool_response>")
            call = {"name": "submit", "arguments": {"answer": f"x = {10 ** (Scripted.calls % 30)}"}}
            text = f"<tool_call>\n{json.dumps(call)}\n</tool_call>" if said < turns else "done"
            return self._tokenizer(f"<think>\n\n</think>\n\n{text}<|im_end|>")["input_ids"]

    return Scripted


def arguments(folder: Path, **changes: Any) -> GRPOConfig:
    chosen = {
        "output_dir": str(folder), "per_device_train_batch_size": GROUP * GROUPS,
        "num_generations": GROUP, "max_completion_length": 900, "max_steps": 2,
        "max_tool_calling_iterations": 4, "use_cpu": True, "bf16": False,
        "gradient_checkpointing": False, "report_to": "none", "save_strategy": "no",
        "logging_steps": 1, "disable_tqdm": True,
    }  # fmt: skip
    return GRPOConfig(**{**chosen, **changes})


@pytest.fixture
def sandbox() -> InstantSandbox:
    return InstantSandbox()


@pytest.fixture
def trained(tokenizer: Any, sandbox: InstantSandbox, tmp_path: Path) -> Callable[..., Any]:
    """Trains with anchors on scripted tool calls; returns the trainer and the world model."""

    def run(max_turns: int, said: int) -> Any:
        model = CountingWorldModel()
        spec = WMRLSpec(
            ENV, world_model=model, sandbox=sandbox, max_turns=max_turns, starts=40, **TASK
        )
        trainer = scripted(WMRLGRPOTrainer, said)(
            qwen(tokenizer),
            measure=spec.measure,
            predict=spec.predict,
            anchors=AnchorDraw(0.4, seed=1),
            correction=Correction("rectified", fraction=0.4),
            args=arguments(tmp_path),
            train_dataset=spec.train_dataset,
            environment_factory=spec.environment_factory,
            processing_class=tokenizer,
        )
        trainer.train()
        return trainer, model

    return run


def test_anchor_groups_alone_are_executed_in_several_turns(
    trained: Callable[..., Any], sandbox: InstantSandbox
) -> None:
    trainer, model = trained(max_turns=2, said=2)
    logged = trainer.state.log_history[0]
    assert logged["wmrl/anchor_share"] == pytest.approx(0.4)
    assert np.isfinite(logged["wmrl/measured_reward"] + logged["wmrl/predicted_reward"])
    turns, anchors, steps = 2, 2 * GROUP, 2
    executed = {job.code.strip() for job in sandbox.jobs}
    assert 0 < len(executed) <= turns * anchors * steps
    asked_between = [e for e in model.asked if len(e.actions) == 1]
    assert len(asked_between) == (GROUP * GROUPS - anchors) * steps


def test_a_world_models_feedback_stands_in_where_nothing_is_executed(
    trained: Callable[..., Any],
) -> None:
    trainer, _ = trained(max_turns=3, said=1)
    environments = trainer.environments
    told = {environment._execute: environment for environment in environments}
    assert set(told) == {True, False}
    for execute, environment in told.items():
        environment.reset(seed=0, wmrl_anchor=execute)
        feedback = environment.submit("y = 1")
        assert (feedback == "so it seems") != execute


def test_a_group_starts_from_the_same_task(trained: Callable[..., Any]) -> None:
    trainer, _ = trained(max_turns=1, said=1)
    tasks = [environment._task for environment in trainer.environments]
    for first in range(0, len(tasks), GROUP):
        assert len(set(tasks[first : first + GROUP])) == 1
    assert len(set(tasks)) == 2


@pytest.mark.parametrize("said", [0, 1, 5], ids=["never", "too early", "too late"])
def test_an_episode_ends_when_the_model_does(trained: Callable[..., Any], said: int) -> None:
    trainer, _ = trained(max_turns=2, said=said)
    logged = trainer.state.log_history[0]
    assert np.isfinite(logged["wmrl/measured_reward"])
    if said == 0:
        assert logged["wmrl/measured_reward"] == 0.0


def test_the_plain_trainer_measures_everything_without_tools(
    tokenizer: Any, tmp_path: Path, sandbox: InstantSandbox
) -> None:
    spec = WMRLSpec(ENV, sandbox=sandbox, starts=20, system="Write.", tools=False, **TASK)
    assert spec.environment_factory is None
    first = spec.train_dataset[0]["prompt"]
    assert first[0] == {"role": "system", "content": "Write."} and "rows" in first[1]["content"]

    class Writing(GRPOTrainer):
        def _generate_single_turn(self, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
            texts = (f"```python\nx = {i}\n```<|im_end|>" for i in range(len(prompt_ids)))
            return [self._tokenizer(text)["input_ids"] for text in texts], None

    trainer = Writing(
        qwen(tokenizer),
        reward_funcs=spec.reward_funcs,
        args=arguments(tmp_path, max_steps=1),
        train_dataset=spec.train_dataset,
        environment_factory=spec.environment_factory,
        processing_class=tokenizer,
    )
    trainer.train()
    assert 0 < trainer.state.log_history[0]["rewards/measured/mean"] <= 1
    assert len(sandbox.jobs) == GROUP * GROUPS


def test_the_trainers_arguments_are_left_as_they_are(
    tokenizer: Any, tmp_path: Path, sandbox: InstantSandbox
) -> None:
    """vLLM's options among them."""
    options = {"vllm_mode": "colocate", "vllm_gpu_memory_utilization": 0.4}
    args = arguments(tmp_path, vllm_importance_sampling_clip_max=2.0, **options)
    before = args.to_dict()
    spec = WMRLSpec(ENV, world_model=CountingWorldModel(), sandbox=sandbox, tools=False, **TASK)
    trainer = WMRLGRPOTrainer(
        qwen(tokenizer),
        measure=spec.measure,
        predict=spec.predict,
        anchors=AnchorDraw(0.4, seed=1),
        correction=Correction(),
        args=args,
        train_dataset=spec.train_dataset,
        processing_class=tokenizer,
    )
    assert args.to_dict() == before
    assert {name: getattr(trainer.args, name) for name in options} == options


def test_what_is_not_graded_is_none(sandbox: InstantSandbox) -> None:
    sandbox.dead = True
    spec = WMRLSpec(ENV, sandbox=sandbox, tools=False, **TASK)
    assert spec.measure(completions=["x = 1", "no code"], seed=[0, 1]) == [None, 0.0]
    tool = WMRLSpec(ENV, sandbox=sandbox, **TASK).environment_factory()
    tool.reset(seed=0)
    tool.submit("x = 1")
    assert spec.measure(completions=[""], environments=[tool]) == [None]


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="max_turns must be 1"):
        WMRLSpec(ENV, tools=False, max_turns=2, **TASK)
    with pytest.raises(TypeError, match="env_id must take text"):
        WMRLSpec("gymnasium:CartPole-v1")
    with pytest.raises(ValueError, match="predict needs world_model"):
        _ = WMRLSpec(ENV, **TASK).predict
    with pytest.raises(ValueError, match="starts must be >= 1, got 0"):
        WMRLSpec(ENV, starts=0, **TASK)
