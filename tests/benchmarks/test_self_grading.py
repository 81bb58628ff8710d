"""A policy whose own backbone is the world model, in a whole run on an instant sandbox."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from testing_runs import tiny
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from wmrl_envs.agents.embedded.policy import WEIGHTS
from wmrl_envs.agents.smollm2.policy import ScaffoldPolicy, scaffold_policy
from wmrl_envs.benchmarks.autoresearch.recording import Recorder
from wmrl_envs.benchmarks.autoresearch.records import SettingsError, read_lines
from wmrl_envs.benchmarks.autoresearch.run_results import write_run_results
from wmrl_envs.benchmarks.autoresearch.self_grading import SelfGrading
from wmrl_envs.benchmarks.autoresearch.train import train
from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models import Episode, LoggedEpisode, write_log

pytestmark = [pytest.mark.model, pytest.mark.usefixtures("instant")]

TASK = "tabular regression rmse\nrows 9 num 2 cat 0 missing no scale even\noutputs 1 kind value\n"


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scaffold policy on a tiny random model, saved."""
    base, folder = tmp_path_factory.mktemp("base"), tmp_path_factory.mktemp("adapter")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(WEIGHTS)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=8192,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(base)
    tokenizer.save_pretrained(base)
    scaffold_policy(base, rank=2, max_new_tokens=6).save(folder)
    return folder


def log(folder: Path, count: int) -> None:
    lines = (f"model = Ridge(alpha={i})" for i in range(count))
    write_log(
        folder / "log.jsonl",
        [LoggedEpisode(TASK, (line,), i / 20, "valid") for i, line in enumerate(lines)],
    )


def test_grades_do_not_change_while_the_adapter_learns(adapter: Path, tmp_path: Path) -> None:
    log(tmp_path, 20)
    policy = ScaffoldPolicy.load(adapter)
    model = SelfGrading(policy, tmp_path, 20, min_mass=0.0)
    assert len(model.out_of_fold[0]) == 20 - 6 == len(model.out_of_fold[1])
    asked = [Episode(TASK, ("model = Lasso()",)), Episode(TASK, ("model = Ridge(",))]
    before = model.predict(asked)
    assert before[1].reward == 0.0
    for parameter in policy.parameters():
        torch.nn.init.normal_(parameter.data, std=0.5)
    again = SelfGrading(policy, tmp_path, 20, min_mass=0.0).predict(asked)
    assert again == before and model.cpu_seconds > 0


def test_a_log_that_is_too_short_is_named(adapter: Path, tmp_path: Path) -> None:
    log(tmp_path, 3)
    with pytest.raises(WorldModelError, match="must hold 6 programs that compile, has 3"):
        SelfGrading(ScaffoldPolicy.load(adapter), tmp_path, 3)


def test_a_policy_without_an_adapter_cannot_grade_itself(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="world_model='policy' needs a policy with an adapter"):
        train(tiny(world_model="policy", log_episodes=40), tmp_path)


def test_an_interrupted_run_ends_with_the_same_bits(
    adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the second step; the adapter's weights and all lines are those of a whole run."""
    # A random model's lines seldom compile: let the log hold some that do.
    monkeypatch.setattr(
        "wmrl_envs.benchmarks.autoresearch.train.collect_log",
        lambda config, folder, episodes: log(folder, 20),
    )
    config = tiny(policy=str(adapter), world_model="policy", log_episodes=20)
    train(config, tmp_path / "whole")
    note = Recorder.on_rollout_end

    def interrupted(self: Recorder, rollout: Any) -> None:
        if self.model.step == 1:
            raise KeyboardInterrupt
        note(self, rollout)

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "on_rollout_end", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(config, tmp_path / "cut")
    train(config, tmp_path / "cut")
    rewards = [
        [line["rollout/reward_mean"] for line in read_lines(tmp_path / name / "steps.jsonl")]
        for name in ("whole", "cut")
    ]
    assert rewards[0] == rewards[1] and len(rewards[0]) == 3
    one, two = (
        load_file(tmp_path / name / "policy" / "adapter_model.safetensors")
        for name in ("whole", "cut")
    )
    assert all(torch.equal(one[key], two[key]) for key in one | two)
    write_run_results(tmp_path / "cut", tmp_path / "results", ["train"])
    table = (tmp_path / "results" / "table.md").read_text()
    assert table.count("\n| ") == 3 and "held-out tasks" in table
