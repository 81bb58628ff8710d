"""Checkpoints: whole or not at all, plain values only, and only into the stack they came from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from wmrl_envs.agents import GRPO, BaseCallback, GRPOSettings, LanguageModelPolicy, checkpoint

MakePolicy = Callable[..., LanguageModelPolicy]


def test_nested_values_and_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    state = {
        "array": np.arange(6, dtype=np.uint8).reshape(2, 3),
        "empty": np.zeros((0, 2)),
        "scalar": np.float64(0.5),
        "generator": np.random.default_rng(0).bit_generator.state,
        "nested": [1, (2.0, None), {"a": True, 3: "x"}],
        "tensor": torch.arange(3),
    }
    checkpoint.write(tmp_path / "deep" / "file.pt", state)
    back = checkpoint.read(tmp_path / "deep" / "file.pt")
    np.testing.assert_array_equal(back["array"], state["array"])
    assert back["array"].dtype == np.uint8 and back["empty"].shape == (0, 2)
    assert torch.equal(back["tensor"], torch.arange(3))
    for name in ("scalar", "generator", "nested"):
        assert back[name] == state[name]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.pt"
    checkpoint.write(path, {"step": 1})
    with pytest.raises(TypeError, match=r"state\['envs'\]\['model'\] is a object"):
        checkpoint.write(path, {"envs": {"model": object()}})
    assert checkpoint.read(path) == {"step": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_an_array_of_objects_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"state\['a'\] is an array of object"):
        checkpoint.write(tmp_path / "file.pt", {"a": np.array([object()])})


def test_missing_damaged_and_foreign_files_are_named(
    make_policy: MakePolicy, letter_env: Any, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError, match="no checkpoint at"):
        checkpoint.read(tmp_path / "none.pt")
    (tmp_path / "damaged.pt").write_bytes(b"PK\x03\x04 half a file")
    with pytest.raises(ValueError, match="no readable checkpoint"):
        checkpoint.read(tmp_path / "damaged.pt")
    torch.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(ValueError, match="holds a list"):
        checkpoint.read(tmp_path / "list.pt")
    checkpoint.write(tmp_path / "other.pt", {"weights": torch.zeros(1)})
    with pytest.raises(ValueError, match="no checkpoint of GRPO"):
        GRPO.load(tmp_path / "other.pt", policy=make_policy(), envs=letter_env(8))


def test_a_pickle_that_runs_code_is_refused(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    torch.save(Trap(), tmp_path / "trap.pt")
    with pytest.raises(ValueError, match="no readable checkpoint"):
        checkpoint.read(tmp_path / "trap.pt")
    assert not (tmp_path / "sprung").exists()


def test_the_state_of_every_wrapper_in_the_stack_is_saved(
    make_policy: MakePolicy, letter_env: Any, growing_reward: Any, tmp_path: Path
) -> None:
    stack = growing_reward(growing_reward(letter_env(8)))
    stack.factor, stack.env.factor = np.array([2.0]), np.array([5.0])
    GRPO(make_policy(), stack).save(tmp_path / "model.pt")
    fresh = growing_reward(growing_reward(letter_env(8)))
    GRPO.load(tmp_path / "model.pt", policy=make_policy(), envs=fresh)
    assert (fresh.factor, fresh.env.factor) == (2.0, 5.0)
    with pytest.raises(ValueError, match="saved wrappers with state"):
        GRPO.load(tmp_path / "model.pt", policy=make_policy(), envs=letter_env(8))


def test_settings_come_back_and_can_be_overridden(
    make_policy: MakePolicy, letter_env: Any, tmp_path: Path
) -> None:
    model = GRPO(make_policy(), letter_env(8), group_size=4, clip_high=0.3)
    model.save(tmp_path / "model.pt")
    load = {"policy": make_policy(), "envs": letter_env(8)}
    assert GRPO.load(tmp_path / "model.pt", **load).settings == model.settings
    again = GRPO.load(tmp_path / "model.pt", **load, learning_rate=0.5)
    assert again.settings.learning_rate == 0.5 and again.settings.clip_high == 0.3
    with pytest.raises(ValueError, match="without a reference"):
        GRPO.load(tmp_path / "model.pt", **load, kl_coef=0.1)


@pytest.mark.parametrize("override", [{"weight_decay": 0.9}, {"betas": (0.1, 0.1)}])
def test_a_setting_of_the_optimizer_can_be_overridden_too(
    make_policy: MakePolicy, letter_env: Any, tmp_path: Path, override: dict[str, Any]
) -> None:
    GRPO(make_policy(), letter_env(8), learning_rate=0.01).learn(2).save(tmp_path / "model.pt")
    ends = []
    for settings in ({}, override):
        load = {"policy": make_policy(), "envs": letter_env(8)}
        model = GRPO.load(tmp_path / "model.pt", **load, **settings).learn(4)
        ends.append(torch.cat([p.detach().flatten() for p in model.policy.parameters()]))
    assert not torch.equal(*ends)


def test_numpys_numbers_are_settings_that_can_be_saved(
    make_policy: MakePolicy, letter_env: Any, tmp_path: Path
) -> None:
    settings = {"group_size": np.int64(4), "learning_rate": np.float32(0.5), "seed": np.int32(3)}
    model = GRPO(make_policy(), letter_env(8), **settings)
    model.save(tmp_path / "model.pt")
    assert model.settings == GRPOSettings(group_size=4, learning_rate=0.5, seed=3)


class BreakPolicy(BaseCallback):
    """Lets the update fail half-way."""

    def on_rollout_end(self, rollout: Any) -> None:
        """Takes the policy apart."""
        self.model.policy.model = None


def test_a_half_made_update_cannot_be_saved(
    make_policy: MakePolicy, letter_env: Any, tmp_path: Path
) -> None:
    model = GRPO(make_policy(), letter_env(8))
    with pytest.raises(Exception):  # noqa: B017 - whatever the broken policy raises
        model.learn(1, BreakPolicy())
    assert not model.can_save
    with pytest.raises(RuntimeError, match="middle of an update"):
        model.save(tmp_path / "model.pt")
