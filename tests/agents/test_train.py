"""The module that `accelerate launch` starts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from testing_letters import letter_model, letter_tokenizer

from wmrl_envs.agents import GRPOSettings, LanguageModelPolicy
from wmrl_envs.agents.train import TrainConfig, main, make_envs, train


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    LanguageModelPolicy(letter_model(), letter_tokenizer(), max_new_tokens=8).save(folder)
    return folder


def config(out: Path, model: Path, **changes: Any) -> TrainConfig:
    chosen: dict[str, Any] = {
        "stack": "testing_letter_env:letters",
        "policy": str(model),
        "policy_kwargs": '{"max_new_tokens": 8}',
        "num_envs": 8,
        "steps": 2,
        "settings": GRPOSettings(group_size=4, learning_rate=1e-2),
    }
    return TrainConfig(out, **{**chosen, **changes})


def test_a_run_called_again_goes_on_where_it_ended(tmp_path: Path, model_folder: Path) -> None:
    first = train(config(tmp_path / "a", model_folder))
    again = train(config(tmp_path / "a", model_folder, steps=4))
    whole = train(config(tmp_path / "b", model_folder, steps=4))
    assert (first.step, again.step) == (2, 4)
    for a, b in zip(again.policy.parameters(), whole.policy.parameters(), strict=True):
        assert torch.equal(a, b)
    saved = LanguageModelPolicy.load(tmp_path / "a" / "policy")
    assert torch.equal(next(saved.parameters()), next(again.policy.parameters()))


def test_the_embedded_policy_is_shown_cards() -> None:
    envs = make_envs(TrainConfig(Path("run"), num_envs=2, env_kwargs='{"max_turns": 2}'))
    try:
        observation, _ = envs.reset(seed=[0, 0])
        assert observation["task"][0].count("\n") == 3
        assert envs.single_observation_space["turn"].n == 3
    finally:
        envs.close()


def test_any_registered_environment_is_made() -> None:
    envs = make_envs(TrainConfig(Path("run"), env="CartPole-v1", num_envs=3))
    assert np.shape(envs.reset(seed=0)[0]) == (3, 4)
    envs.close()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stack": "letters"}, "stack must be 'module:function', got 'letters'"),
        ({"stack": "json:nothing"}, "stack must be 'module:function', got 'json:nothing'"),
        ({"stack": None, "env_kwargs": "[1]"}, r"env_kwargs must be a JSON object, got '\[1\]'"),
        ({"stack": "testing_letter_env:no_stack"}, "must return a VectorEnv"),
    ],
)
def test_what_cannot_be_built_is_named(tmp_path: Path, changes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_envs(config(tmp_path, tmp_path, **changes))


def test_the_command_line_offers_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert "--settings.group-size" in shown and "--stack" in shown
