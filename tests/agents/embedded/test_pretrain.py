"""Pretraining: reproducible, and what it writes is a policy."""

import json
import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from wmrl_envs.agents.embedded.policy import embedded_policy
from wmrl_envs.agents.embedded.pretrain import (
    PretrainConfig,
    build_model,
    collate,
    corpus,
    encode,
    pretrain,
    train,
)
from wmrl_envs.agents.embedded.tokenizer import SOLUTION, train_tokenizer
from wmrl_envs.autoresearch import catalog


def tiny(out: Path, **changes: object) -> PretrainConfig:
    settings = {"scripts": 64, "vocab_size": 400, "hidden_size": 32, "layers": 1, "heads": 2}
    return PretrainConfig(out, **{**settings, "batch_size": 16, **changes})


@pytest.mark.model
def test_equal_settings_give_equal_weights_and_a_policy_that_writes(tmp_path: Path) -> None:
    reported: list[tuple[int, int]] = []
    for name in ("one", "two"):
        pretrain(tiny(tmp_path / name), lambda step, steps, loss: reported.append((step, steps)))
    assert reported == [(1, 4), (2, 4), (3, 4), (4, 4)] * 2
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert all(torch.equal(one[key], two[key]) for key in one | two)
    policy = embedded_policy(tmp_path / "one", max_new_tokens=8)
    batch = policy.act([{"task": catalog.load("digits").card()}])
    assert isinstance(batch.actions[0], str) and len(batch.responses[0]) <= 8


@pytest.mark.model
def test_the_record_holds_the_settings_and_a_finite_loss(tmp_path: Path) -> None:
    pretrain(tiny(tmp_path, seed=3))
    record = json.loads((tmp_path / "pretrain.json").read_text())
    assert record["seed"] == 3 and record["scripts"] == 64
    assert math.isfinite(record["loss"])


@pytest.mark.model
def test_the_loss_falls(tmp_path: Path) -> None:
    config = tiny(tmp_path, scripts=240, learning_rate=0.05)
    pairs = corpus(config.scripts, config.seed, config.slips)
    tokenizer = train_tokenizer((a + b for a, b in pairs), config.vocab_size)
    torch.manual_seed(0)
    losses = train(build_model(config, len(tokenizer)), encode(pairs, tokenizer), config)
    assert len(losses) == 15
    assert losses[-1] < 0.9 * losses[0]


def test_fewer_scripts_than_a_batch_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="scripts must be at least batch_size=16, got 15"):
        pretrain(tiny(tmp_path, scripts=15))
    assert list(tmp_path.iterdir()) == []


def test_a_prompt_ends_with_the_start_of_the_solution_and_a_script_with_the_end() -> None:
    tokenizer = train_tokenizer(["ab"], vocab_size=259)
    ((prompt, script),) = encode([("a", "b")], tokenizer)
    assert tokenizer.convert_ids_to_tokens(prompt) == ["a", SOLUTION]
    assert tokenizer.convert_ids_to_tokens(script) == ["b", tokenizer.eos_token]


def test_only_the_script_is_scored_and_padding_is_not() -> None:
    ids, labels = collate([([5, 6], [7, 8, 1]), ([5], [9, 1])])
    assert ids.tolist() == [[5, 6, 7, 8, 1], [5, 9, 1, 0, 0]]
    assert labels.tolist() == [[-100, -100, 7, 8, 1], [-100, 9, 1, -100, -100]]
