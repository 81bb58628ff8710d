"""Behaviour cloning teaches a MiniVLA as it does any network of the protocol."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from testing_minivla import small_model

from wmrl_envs.agents.cloning.examples import make_examples
from wmrl_envs.agents.cloning.trainer import Cloning, CloningSettings
from wmrl_envs.agents.policies.vla.policy import VLAPolicy

pytestmark = pytest.mark.model


def test_a_demonstration_is_learned(tmp_path: Path) -> None:
    model = small_model(tmp_path / "run")
    actions = np.tile(np.array([[0.3, -0.6, 0.2, 0, 0.1, -0.2, 1]], np.float32), (4, 1))
    demonstration = SimpleNamespace(
        instruction="go",
        observations={"agentview_image": np.full((5, 32, 32, 3), 90, np.uint8)},
        intended=actions,
    )
    examples = make_examples([demonstration], model)
    settings = CloningSettings(steps=40, batch_size=2, learning_rate=3e-2, smoothing=0, seed=0)
    cloning = Cloning(model, examples, settings)
    before = cloning.loss(examples)
    cloning.run()
    assert cloning.loss(examples) < before / 2
    seen = {"task": "go", "agentview_image": demonstration.observations["agentview_image"][0]}
    (action,) = VLAPolicy(model).act([seen], deterministic=True).actions
    assert action == pytest.approx(actions[0], abs=0.05)
