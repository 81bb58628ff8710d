"""The policy that ships with the package."""

from pathlib import Path

import pytest
import torch

from wmrl_envs.agents.embedded.policy import WEIGHTS, card_prompt, embedded_policy, is_embedded
from wmrl_envs.agents.embedded.tokenizer import SOLUTION
from wmrl_envs.agents.policies.language_model import LanguageModelPolicy
from wmrl_envs.autoresearch import catalog
from wmrl_envs.autoresearch.grading import compiles

CARDS = [{"task": catalog.load(name).card()} for name in ("titanic", "digits", "tate-medium")]


@pytest.fixture(scope="module")
def policy() -> LanguageModelPolicy:
    torch.set_num_threads(1)
    return embedded_policy()


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_shipped_files_are_small() -> None:
    assert sum(path.stat().st_size for path in WEIGHTS.iterdir()) < 15_000_000


@pytest.mark.model
def test_it_writes_scripts_that_compile(policy: LanguageModelPolicy) -> None:
    scripts = policy.act(CARDS * 8, generator=generator()).actions
    assert sum(compiles(script) is None for script in scripts) >= 20
    assert all("submission" in script or len(script) > 100 for script in scripts)


@pytest.mark.model
def test_equal_generators_write_equal_scripts(policy: LanguageModelPolicy) -> None:
    first, second = (policy.act(CARDS, generator=generator(5)).actions for _ in range(2))
    assert first == second
    assert policy.act(CARDS, generator=generator(6)).actions != first


@pytest.mark.model
def test_log_probabilities_are_finite_and_those_of_the_sampling(
    policy: LanguageModelPolicy,
) -> None:
    batch = policy.act(CARDS, generator=generator())
    with torch.no_grad():
        again = policy.log_probs(batch)
    for row, sampled in zip(again.log_probs, batch.log_probs, strict=True):
        known = row[: len(sampled)]
        assert torch.isfinite(known).all() and (known <= 0).all()
        torch.testing.assert_close(known, torch.tensor(sampled), atol=1e-4, rtol=1e-4)


@pytest.mark.model
def test_a_saved_policy_is_known_for_an_embedded_one_and_writes_the_same(
    policy: LanguageModelPolicy, tmp_path: Path
) -> None:
    policy.save(tmp_path)
    assert is_embedded(tmp_path)
    again = embedded_policy(tmp_path).act(CARDS, generator=generator())
    assert again.actions == policy.act(CARDS, generator=generator()).actions


def test_other_folders_hold_no_embedded_policy(tmp_path: Path) -> None:
    assert not is_embedded(tmp_path)
    assert not is_embedded(tmp_path / "absent")
    (tmp_path / "tokenizer.json").write_text('{"added_tokens": [{"content": "<s>"}]}')
    assert not is_embedded(tmp_path)


def test_the_prompt_is_the_card_without_names_and_the_start_of_the_solution() -> None:
    prompt = card_prompt(CARDS[0])
    assert prompt.endswith("kind probability\n" + SOLUTION)
    assert "names" not in prompt


@pytest.mark.model
def test_an_overview_is_refused(policy: LanguageModelPolicy) -> None:
    with pytest.raises(ValueError, match="three lines of a task card"):
        policy.act([{"task": catalog.load("titanic").overview()}])
