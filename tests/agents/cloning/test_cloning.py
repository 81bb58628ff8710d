"""A network learns to answer as the demonstrations did."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from wmrl_envs.agents.cloning import Cloning, CloningSettings, Examples, make_examples
from wmrl_envs.agents.cloning.loss import BinLoss
from wmrl_envs.agents.policies.vla import VLAPolicy

Build = Callable[..., Any]


@pytest.fixture
def make_cloning(make_model: Build, make_episode: Build) -> Callable[..., Any]:
    def build(steps: int, episodes: int = 8, **settings: Any) -> tuple[Cloning, Any, Examples]:
        model = make_model()
        examples, aside = make_examples([make_episode(i) for i in range(episodes)], model).split(
            0.2
        )
        model.fit_statistics([i.context for i in examples.inputs])
        return Cloning(model, examples, CloningSettings(steps=steps, **settings)), model, aside

    return build


def test_it_learns_what_holds_for_episodes_that_it_has_not_seen(
    make_cloning: Build, make_episode: Build
) -> None:
    cloning, model, aside = make_cloning(150, 32, batch_size=64, learning_rate=3e-3, smoothing=3.0)
    before = cloning.loss(aside)
    losses: list[float] = []
    cloning.run(lambda step, loss: losses.append(loss))
    assert len(losses) == 150 and losses[-1] < losses[0]
    assert cloning.loss(aside) < before - 1.0
    episode = make_episode(1000)
    seen = [
        {"task": "go", **{name: values[t] for name, values in episode.observations.items()}}
        for t in range(12)
    ]
    actions = np.stack(VLAPolicy(model).act(seen, deterministic=True).actions)
    error = np.abs(actions[:, :3] - episode.intended[:, :3]).mean()
    assert error < 0.5 * np.abs(episode.intended[:, :3]).mean()


def test_a_restored_run_goes_on_bit_for_bit(make_cloning: Build, tmp_path: Path) -> None:
    whole, model, _ = make_cloning(6, batch_size=16)
    whole.run()
    first, _, _ = make_cloning(6, batch_size=16)

    def stop(step: int, loss: float) -> None:
        if step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        first.run(stop)
    first.save(tmp_path / "checkpoint.pt")
    second, restored, _ = make_cloning(6, batch_size=16)
    second.load(tmp_path / "checkpoint.pt")
    assert second.step == 3
    second.run()
    for name, value in model.state_dict().items():
        assert torch.equal(value, restored.state_dict()[name]), name


def test_a_run_of_other_settings_is_not_continued(make_cloning: Build, tmp_path: Path) -> None:
    make_cloning(6)[0].save(tmp_path / "checkpoint.pt")
    with pytest.raises(ValueError, match="the saved run has settings"):
        make_cloning(7)[0].load(tmp_path / "checkpoint.pt")
    with pytest.raises(ValueError, match="the saved run has examples"):
        make_cloning(6, episodes=3)[0].load(tmp_path / "checkpoint.pt")


def test_the_seed_orders_the_examples(make_cloning: Build) -> None:
    def first_loss(seed: int) -> float:
        losses: list[float] = []
        make_cloning(1, batch_size=4, seed=seed)[0].run(lambda step, loss: losses.append(loss))
        return losses[0]

    assert first_loss(0) == first_loss(0) != first_loss(1)


def test_no_examples_have_no_loss(make_cloning: Build) -> None:
    cloning, _, aside = make_cloning(1)
    assert math.isnan(cloning.loss(aside.select(np.zeros(len(aside), bool))))


def test_the_learning_rate_rises_and_falls_to_nothing() -> None:
    settings = CloningSettings(steps=100, learning_rate=1.0, warmup=0.1)
    rates = [settings.rate(step) for step in range(101)]
    assert rates[:10] == sorted(rates[:10]) and rates[0] > 0
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[100] == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0),
        ("batch_size", 0),
        ("learning_rate", 0.0),
        ("max_grad_norm", math.inf),
        ("weight_decay", -1.0),
        ("smoothing", math.nan),
        ("warmup", 1.0),
    ],
)
def test_settings_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} must be"):
        CloningSettings(**{name: value})


def test_without_smoothing_the_loss_is_the_cross_entropy() -> None:
    logits, columns = torch.randn(3, 5, 256), torch.randint(256, (3, 5))
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), columns.flatten())
    torch.testing.assert_close(BinLoss(256, 0.0)(logits, columns), expected)


def test_smoothing_forgives_near_misses() -> None:
    logits = 10 * torch.eye(256)[[100, 101, 150]]
    loss = BinLoss(256, 2.0)
    exact, near, far = (float(loss(row[None], torch.tensor([100]))) for row in logits)
    assert exact < near < far
