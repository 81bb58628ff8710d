"""A MiniVLA as GRPO's policy: sampling, scoring, learning, adapters, references."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from testing_minivla import push_envs, small_model

from wmrl_envs.agents import GRPO
from wmrl_envs.agents.policies.vla.minivla.model import MiniVLA
from wmrl_envs.agents.policies.vla.policy import VLAPolicy

pytestmark = pytest.mark.model


@pytest.fixture
def own_model(tmp_path: Path) -> MiniVLA:
    """A model that the test may change."""
    return small_model(tmp_path / "run")


def observations(pictures: NDArray[np.uint8]) -> list[dict[str, Any]]:
    tasks = ("go", "open the drawer", "turn", "go")
    return [
        {"task": task, "agentview_image": picture}
        for task, picture in zip(tasks, pictures, strict=True)
    ]


def test_scoring_gives_the_log_probabilities_of_sampling(
    model: MiniVLA, pictures: NDArray[np.uint8]
) -> None:
    policy = VLAPolicy(model, temperature=0.7)
    batch = policy.act(observations(pictures), generator=torch.Generator().manual_seed(3))
    scored = policy.log_probs(batch, entropy=True)
    torch.testing.assert_close(scored.log_probs.detach(), torch.tensor(batch.log_probs))
    assert scored.entropy is not None and bool((scored.entropy > 0).all())
    assert all(259 <= token < 515 for row in batch.responses for token in row)
    assert all(action.shape == (7,) and action[6] in (-1, 0, 1) for action in batch.actions)


def test_a_greedy_action_is_the_decoded_likeliest_tokens(
    model: MiniVLA, pictures: NDArray[np.uint8]
) -> None:
    batch = VLAPolicy(model).act(observations(pictures), deterministic=True)
    decoded = model.action_tokenizer.decode(np.array(batch.responses))
    assert np.array_equal(np.stack(batch.actions), model.to_actions(decoded))
    row = model.encode(observations(pictures)[1])
    first = model.start([row.prompt], [row.context]).logits.argmax()
    assert batch.responses[1][0] == 514 - int(first)


def test_grpo_trains_projector_and_language_model(own_model: MiniVLA) -> None:
    before = {name: p.detach().clone() for name, p in own_model.named_parameters()}
    grpo = GRPO(VLAPolicy(own_model), push_envs(8), group_size=4, learning_rate=1e-2, seed=0)
    grpo.learn(1)
    changed = {name for name, p in own_model.named_parameters() if not torch.equal(p, before[name])}
    assert grpo.history[-1]["train/gradient_norm"] > 0
    assert {name.split(".")[1] for name in changed} == {"projector", "llm_backbone"}


def test_thawed_towers_learn_as_well(own_model: MiniVLA, pictures: NDArray[np.uint8]) -> None:
    own_model.network.vision_backbone.requires_grad_(True)
    policy = VLAPolicy(own_model)
    policy.log_probs(policy.act(observations(pictures))).log_probs.sum().backward()
    tower = own_model.network.vision_backbone.dino_featurizer
    assert tower.cls_token.grad is not None and bool(tower.cls_token.grad.any())


def test_only_the_adapters_of_the_language_model_learn(own_model: MiniVLA) -> None:
    own_model.add_lora(rank=2)
    before = {name: p.detach().clone() for name, p in own_model.named_parameters()}
    learning = {name for name, p in own_model.named_parameters() if p.requires_grad}
    assert len(learning) == 2 * 7 * 2
    assert all(name.startswith("network.llm_backbone") and "lora_" in name for name in learning)
    grpo = GRPO(VLAPolicy(own_model), push_envs(8), group_size=4, learning_rate=1e-2, seed=0)
    grpo.learn(1)
    changed = {name for name, p in own_model.named_parameters() if not torch.equal(p, before[name])}
    # The first step moves the zero matrices alone; the others' gradients are zero as long.
    assert changed == {name for name in learning if "lora_B" in name}


def test_fresh_adapters_change_nothing(own_model: MiniVLA, pictures: NDArray[np.uint8]) -> None:
    batch = VLAPolicy(own_model).act(observations(pictures))
    before = VLAPolicy(own_model).log_probs(batch).log_probs
    after = VLAPolicy(own_model.add_lora(rank=2)).log_probs(batch).log_probs
    assert torch.equal(before, after)


def test_saving_merges_the_adapters(
    own_model: MiniVLA, pictures: NDArray[np.uint8], tmp_path: Path
) -> None:
    own_model.add_lora(rank=2, alpha=4)
    with torch.no_grad():
        for parameter in own_model.parameters():
            if parameter.requires_grad:
                parameter.normal_(std=0.3)
    policy = VLAPolicy(own_model)
    batch = policy.act(observations(pictures))
    policy.save(tmp_path / "saved")
    again = VLAPolicy.load(tmp_path / "saved", model_class=MiniVLA)
    assert not any("lora" in name for name in again.state_dict())
    torch.testing.assert_close(again.log_probs(batch).log_probs, policy.log_probs(batch).log_probs)


def test_the_frozen_reference_stays_where_it_was(
    own_model: MiniVLA, pictures: NDArray[np.uint8]
) -> None:
    policy = VLAPolicy(own_model.add_lora(rank=2))
    reference = policy.frozen_copy()
    batch = policy.act(observations(pictures))
    before = reference.log_probs(batch).log_probs
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.5)
    assert torch.equal(reference.log_probs(batch).log_probs, before)
    assert not torch.equal(policy.log_probs(batch).log_probs, before)
    assert not list(reference.parameters())
    assert len(list(policy.parameters())) == 28


def test_a_copy_shares_what_does_not_learn(own_model: MiniVLA) -> None:
    own_model.add_lora(rank=2)
    twin = copy.deepcopy(own_model)
    pairs = list(zip(own_model.parameters(), twin.parameters(), strict=True))
    assert all((a is b) == (not a.requires_grad) for a, b in pairs)
    assert twin.tokenizer is own_model.tokenizer


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"targets": ["q_proj", "lm_head"]}, "targets must be some of .*'lm_head'"),
        ({"targets": []}, "targets must be some of"),
    ],
)
def test_adapters_elsewhere_are_refused(
    own_model: MiniVLA, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        own_model.add_lora(**settings)


def test_a_second_pair_of_adapters_is_refused(own_model: MiniVLA) -> None:
    own_model.add_lora(rank=2)
    with pytest.raises(ValueError, match="has adapters already"):
        own_model.add_lora(rank=2)
