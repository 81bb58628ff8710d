"""The language-model policy: what it samples, how likely that was, and what it is asked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from wmrl_envs.agents import LanguageModelPolicy, TokenBatch, TokenPolicy
from wmrl_envs.agents.policies.prompts import PromptEncoder
from wmrl_envs.agents.policies.sampling import nucleus

MakePolicy = Callable[..., LanguageModelPolicy]
OBSERVATIONS = [{"task": "a>"}] * 3 + [{"task": "bcdefg>"}] * 2 + [{"task": "z>"}]


def teacher_forced(policy: LanguageModelPolicy, batch: TokenBatch) -> list[torch.Tensor]:
    """Log-softmax at each response token, row by row, without padding or cache."""
    rows = []
    for prompt, response in zip(batch.prompts, batch.responses, strict=True):
        ids = torch.tensor([prompt + response])
        logits = policy.model(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1]
        rows.append((logits / policy.temperature).log_softmax(-1))
    return rows


def chosen(rows: list[torch.Tensor], batch: TokenBatch) -> list[list[float]]:
    return [
        row.gather(1, torch.tensor(response)[:, None])[:, 0].tolist()
        for row, response in zip(rows, batch.responses, strict=True)
    ]


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_recorded_log_probs_equal_a_teacher_forced_pass(
    make_policy: MakePolicy, temperature: float
) -> None:
    policy = make_policy(temperature=temperature, stop_ids=[1, 5, 9, 12])
    batch = policy.act(OBSERVATIONS, generator=torch.Generator().manual_seed(1))
    assert len({len(response) for response in batch.responses}) > 1
    for recorded, expected in zip(
        batch.log_probs, chosen(teacher_forced(policy, batch), batch), strict=True
    ):
        assert recorded == pytest.approx(expected, abs=2e-6)


def test_recorded_log_probs_are_those_of_the_nucleus(make_policy: MakePolicy) -> None:
    policy = make_policy(top_p=0.5)
    batch = policy.act(OBSERVATIONS, generator=torch.Generator().manual_seed(1))
    rows = [nucleus(row, 0.5) for row in teacher_forced(policy, batch)]
    for recorded, expected in zip(batch.log_probs, chosen(rows, batch), strict=True):
        assert recorded == pytest.approx(expected, abs=1e-5)


def test_recomputed_log_probs_and_entropies_equal_a_teacher_forced_pass(
    make_policy: MakePolicy,
) -> None:
    policy = make_policy(temperature=0.7, stop_ids=[1, 5, 9, 12])
    batch = policy.act(OBSERVATIONS, generator=torch.Generator().manual_seed(1))
    result = policy.log_probs(batch, entropy=True)
    rows = teacher_forced(policy, batch)
    assert result.entropy is not None
    for i, (row, expected) in enumerate(zip(rows, chosen(rows, batch), strict=True)):
        n = len(expected)
        assert result.log_probs[i, :n].tolist() == pytest.approx(expected, abs=2e-6)
        entropy = -(row.exp() * row).sum(-1)
        torch.testing.assert_close(result.entropy[i, :n], entropy, atol=1e-5, rtol=1e-5)
        assert result.mask[i].tolist() == [1.0] * n + [0.0] * (result.mask.shape[1] - n)
        assert result.log_probs[i, n:].abs().sum() == 0


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_gradients_through_shared_and_padded_prompts_equal_plain_ones(
    make_policy: MakePolicy, attention: str
) -> None:
    policy = make_policy()
    policy.model.set_attn_implementation(attention)
    batch = policy.act(OBSERVATIONS, generator=torch.Generator().manual_seed(1))
    policy.log_probs(batch).log_probs.sum().backward()
    gradients = [p.grad.clone() for p in policy.parameters()]
    policy.model.zero_grad()
    rows = teacher_forced(policy, batch)
    picked = zip(rows, batch.responses, strict=True)
    sum(r.gather(1, torch.tensor(ids)[:, None]).sum() for r, ids in picked).backward()  # type: ignore[union-attr]
    for gradient, parameter in zip(gradients, policy.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, atol=2e-5, rtol=1e-4)


def gpt2() -> GPT2LMHeadModel:
    """Learned positions instead of rotary ones."""
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=30, n_embd=32, n_layer=2, n_head=2, n_positions=64, eos_token_id=1)
    )


def gemma3() -> Gemma3ForCausalLM:
    """A sliding window that is shorter than the text."""
    config = Gemma3TextConfig(
        vocab_size=30,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=64,
        sliding_window=6,
        layer_types=["sliding_attention", "full_attention"],
        eos_token_id=1,
    )
    return Gemma3ForCausalLM(config)


@pytest.mark.parametrize("build", [gpt2, gemma3])
def test_any_causal_model_of_transformers_will_do(
    tokenizer: PreTrainedTokenizerFast, build: Callable[[], Any]
) -> None:
    torch.manual_seed(0)
    policy = LanguageModelPolicy(build(), tokenizer, max_new_tokens=6)
    batch = policy.act(OBSERVATIONS, generator=torch.Generator().manual_seed(0))
    expected = chosen(teacher_forced(policy, batch), batch)
    recomputed = policy.log_probs(batch).log_probs
    for i, row in enumerate(expected):
        assert batch.log_probs[i] == pytest.approx(row, abs=5e-6)
        assert recomputed[i, : len(row)].tolist() == pytest.approx(row, abs=5e-6)


def test_equal_generators_write_equal_answers_and_others_do_not(make_policy: MakePolicy) -> None:
    policy = make_policy()

    def write(seed: int) -> list[str]:
        return policy.act(OBSERVATIONS, generator=torch.Generator().manual_seed(seed)).actions

    assert write(0) == write(0) != write(1)


def test_deterministic_answers_are_the_likeliest_tokens(make_policy: MakePolicy) -> None:
    policy = make_policy()
    batch = policy.act(OBSERVATIONS, deterministic=True)
    for row, response in zip(teacher_forced(policy, batch), batch.responses, strict=True):
        assert row.argmax(-1).tolist() == list(response)


def test_tokens_are_drawn_as_often_as_their_probability_says(make_policy: MakePolicy) -> None:
    policy = make_policy(max_new_tokens=1)
    batch = policy.act([{"task": "a>"}] * 4000, generator=torch.Generator().manual_seed(0))
    expected = teacher_forced(policy, batch.select([0]))[0][0].exp()
    counts = torch.bincount(torch.tensor([r[0] for r in batch.responses]), minlength=30) / 4000
    assert (counts - expected).abs().max() < 0.02


def test_the_stop_token_belongs_to_the_response_but_not_to_the_action(
    make_policy: MakePolicy,
) -> None:
    letter_a = 4
    policy = make_policy(stop_ids=[letter_a], max_new_tokens=40)
    batch = policy.act([{"task": "a>"}] * 20, generator=torch.Generator().manual_seed(0))
    stopped = [i for i, r in enumerate(batch.responses) if r[-1] == letter_a]
    assert len(stopped) > 5
    assert all("a" not in batch.actions[i] for i in stopped)
    assert all(r.count(letter_a) <= 1 for r in batch.responses)


def test_sampling_in_parts_covers_every_row(make_policy: MakePolicy) -> None:
    policy = make_policy(sampling_batch_size=4)
    batch = policy.act(OBSERVATIONS, deterministic=True)
    assert batch.actions == make_policy().act(OBSERVATIONS, deterministic=True).actions


def test_the_nucleus_is_the_fewest_tokens_that_reach_top_p() -> None:
    kept = nucleus(torch.tensor([[0.5, 0.1, 0.3, 0.1]]).log(), 0.75).exp()
    torch.testing.assert_close(kept, torch.tensor([[0.625, 0.0, 0.375, 0.0]]))


def test_text_observations_are_their_own_prompt(tokenizer: PreTrainedTokenizerFast) -> None:
    encode = PromptEncoder(tokenizer)
    assert encode("ab>") == encode({"task": "ab>", "feedback": ""}) == (4, 5, 3)


def test_a_chat_template_is_used_where_there_is_one(tokenizer: PreTrainedTokenizerFast) -> None:
    chat = PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend_tokenizer)
    chat.chat_template = "q{{ messages[0]['content'] }}{% if add_generation_prompt %}>{% endif %}"
    assert PromptEncoder(chat)({"task": "ab"}) == tuple(tokenizer("qab>")["input_ids"])


def test_a_prompt_function_replaces_the_default(tokenizer: PreTrainedTokenizerFast) -> None:
    assert PromptEncoder(tokenizer, lambda observation: "b>")(object()) == (5, 3)
    assert PromptEncoder(tokenizer, lambda observation: [7, 8])(object()) == (7, 8)


def test_a_prompt_that_is_too_long_keeps_the_task_and_the_end_of_the_feedback(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    observation = {"task": "abc", "feedback": "defghijklmnop"}
    prompt = PromptEncoder(tokenizer, max_tokens=10)(observation)
    assert len(prompt) <= 10
    text = tokenizer.decode(prompt, skip_special_tokens=True)
    assert text.startswith("abc") and text.endswith("nop")


def test_a_task_that_is_too_long_keeps_its_beginning_and_the_cue_at_the_end(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    prompt = PromptEncoder(tokenizer, max_tokens=8)("abcdefghijklmnopqrst>")
    assert tokenizer.decode(prompt) == "abcdeft>"[:6] + "t>"


def test_prompts_leave_room_for_the_answer_in_the_models_context(make_policy: MakePolicy) -> None:
    policy = make_policy(max_new_tokens=20)
    batch = policy.act(["a" * 500 + ">"], generator=torch.Generator().manual_seed(0))
    assert len(batch.prompts[0]) == 64 - 20


def test_a_saved_policy_writes_the_same_after_loading(
    make_policy: MakePolicy, tmp_path: Path
) -> None:
    policy = make_policy(temperature=0.8, top_p=0.9, max_new_tokens=5)
    policy.save(tmp_path)
    again = LanguageModelPolicy.load(tmp_path)
    assert (again.temperature, again.top_p, again.max_new_tokens) == (0.8, 0.9, 5)
    draw = [
        p.act(OBSERVATIONS, generator=torch.Generator().manual_seed(3)) for p in (policy, again)
    ]
    assert draw[0] == draw[1]
    assert LanguageModelPolicy.from_pretrained(tmp_path, max_new_tokens=3).max_new_tokens == 3


def test_a_frozen_copy_does_not_follow_the_policy(make_policy: MakePolicy) -> None:
    policy = make_policy()
    batch = policy.act(OBSERVATIONS, deterministic=True)
    frozen = policy.frozen_copy()
    before = frozen.log_probs(batch).log_probs
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(0.5)
    assert torch.equal(frozen.log_probs(batch).log_probs, before)
    assert not before.requires_grad
    assert isinstance(frozen, TokenPolicy)


def test_a_missing_model_is_an_error_that_says_where_it_was_sought() -> None:
    with pytest.raises(OSError, match=r"'\./no/such/model'.*neither a local folder"):
        LanguageModelPolicy.from_pretrained("./no/such/model")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens must be >= 1, got 0"),
        ({"max_new_tokens": 64}, "context of 64 tokens, got 64"),
        ({"max_prompt_tokens": 0}, "max_prompt_tokens must be >= 1, got 0"),
        ({"temperature": 0.0}, "temperature must be > 0 and finite, got 0.0"),
        ({"temperature": float("inf")}, "temperature must be"),
        ({"top_p": 0.0}, r"top_p must be in \(0, 1\], got 0.0"),
        ({"top_p": 1.5}, "top_p must be in"),
        ({"stop_ids": []}, "stop_ids is empty"),
        ({"sampling_batch_size": 0}, "sampling_batch_size must be >= 1"),
    ],
)
def test_bad_settings_are_named(
    make_policy: MakePolicy, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make_policy(**settings)


def test_an_observation_without_text_asks_for_a_prompt_function(make_policy: MakePolicy) -> None:
    with pytest.raises(TypeError, match="pass prompt="):
        make_policy().act([3.0])


def test_an_empty_prompt_is_an_error(make_policy: MakePolicy) -> None:
    with pytest.raises(ValueError, match="the prompt is empty"):
        make_policy(prompt=lambda observation: "").act(["a"])


def test_columns_of_a_token_batch_must_match(make_model: Callable[..., LlamaForCausalLM]) -> None:
    with pytest.raises(ValueError, match="equal lengths"):
        TokenBatch(["a"], [(1,)], [], [])
