"""The policy that converses: what it is asked under, what it is trained under, what it forgets."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from testing_letters import letter_model
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from wmrl_envs.agents import GRPO, ChatPolicy, HistoryObservation, LanguageModelPolicy, collect
from wmrl_envs.agents.policies.chat_prompts import ChatEncoder
from wmrl_envs.agents.policies.chat_template import ChatFrame

CHATML = (
    "{% for m in messages %}<s>{{ m['role'] }}\n{{ m['content'] }}<e>\n{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def chat_tokenizer(template: str | None = CHATML) -> PreTrainedTokenizerFast:
    """A token a letter and one for "ab", so that "a", "b" can be written in another way."""
    tokens = ["<pad>", "<e>", "<s>", "<unk>", "\n", ">", "<", "user", "assistant", "system", "ab"]
    vocabulary = {t: i for i, t in enumerate([*tokens, *LETTERS])}
    # A word is made of known pieces, the longest merge first.
    letters = Tokenizer(models.BPE(vocabulary, [("a", "b")], unk_token="<unk>"))
    letters.pre_tokenizer = pre_tokenizers.Split("\n", "isolated")
    letters.decoder = decoders.Fuse()
    letters.add_special_tokens([AddedToken(t, special=True) for t in ("<s>", "<e>", "<pad>")])
    letters.add_tokens(["user", "assistant", "system"])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=letters, eos_token="<e>", unk_token="<unk>", pad_token="<pad>"
    )
    tokenizer.chat_template = template
    return tokenizer


def chat_model(tokenizer: Any, context: int = 256) -> LlamaForCausalLM:
    """The tiny model with a vocabulary and a context of its own."""
    model = letter_model(0)
    config = model.config
    config.vocab_size, config.max_position_embeddings = len(tokenizer), context
    torch.manual_seed(0)
    return LlamaForCausalLM(config)


def chat_policy(**settings: Any) -> ChatPolicy:
    tokenizer = chat_tokenizer()
    chosen = {"system": "cc", "max_new_tokens": 6, **settings}
    return ChatPolicy(chat_model(tokenizer), tokenizer, **chosen)


def encoder(max_tokens: int | None = None, system: str = "cc") -> Callable[[Any], str]:
    """Encodes an observation and shows the prompt as text."""
    tokenizer = chat_tokenizer()
    frame = ChatFrame(tokenizer, system)
    encode = ChatEncoder(frame, frame.plain, max_tokens)
    return lambda observation: tokenizer.decode(encode(observation))


def observed(task: str, *history: tuple[str, str]) -> dict[str, Any]:
    feedback = history[-1][1] if history else ""
    return {"task": task, "feedback": feedback, "history": history}


def teacher_forced(policy: LanguageModelPolicy, prompt: Any, response: Any) -> torch.Tensor:
    """One row alone, without padding, cache or checkpointing."""
    ids = torch.tensor([prompt + response])
    logits = policy.model(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1]
    log_probs = (logits / policy.temperature).log_softmax(-1)
    return log_probs.gather(1, torch.tensor(response)[:, None])[:, 0]


def test_the_prompt_is_what_the_chat_template_renders() -> None:
    shown = encoder()(observed("d", ("e", "f"), ("g", "h")))
    messages = [("system", "cc"), ("user", "d"), ("assistant", "e"), ("user", "f")]
    messages += [("assistant", "g"), ("user", "h")]
    rendered = chat_tokenizer().apply_chat_template(
        [{"role": role, "content": text} for role, text in messages],
        add_generation_prompt=True,
        tokenize=False,
    )
    assert shown == rendered


def test_a_template_without_a_system_role_shows_it_to_the_user() -> None:
    frame = ChatFrame(chat_tokenizer(NO_SYSTEM + CHATML), "cc")
    assert chat_tokenizer().decode(frame.before) == "<s>user\ncc\n\n"


def test_a_tokenizer_without_a_template_gets_blank_lines() -> None:
    tokenizer = chat_tokenizer(None)
    frame = ChatFrame(tokenizer, "cc")
    encode = ChatEncoder(frame, frame.plain)
    assert tokenizer.decode(encode(observed("d", ("e", "f")))) == "cc\n\nd\n\ne\n\nf\n\n"


def test_output_that_spells_a_special_token_stays_in_its_message() -> None:
    tokenizer = chat_tokenizer()
    frame = ChatFrame(tokenizer)
    ids = ChatEncoder(frame, frame.plain)(observed("a", ("b", "<e><s>")))
    assert ids.count(tokenizer.eos_token_id) == 3  # the ends of task, answer and feedback


def test_the_oldest_turns_are_dropped_and_system_and_task_are_not() -> None:
    turns = [(letter * 3, letter * 2) for letter in "efgh"]
    whole = chat_tokenizer()(encoder()(observed("ddd", *turns)))["input_ids"]
    shown = encoder(len(whole) - 1)(observed("ddd", *turns))
    assert "cc" in shown and "ddd" in shown and "eee" not in shown
    assert all(answer in shown for answer in ("fff", "ggg", "hhh"))
    shown = encoder(40)(observed("ddd", *turns))
    assert "cc" in shown and "ddd" in shown and "hhh" in shown and "fff" not in shown


def test_a_turn_that_is_too_long_keeps_the_end_of_its_feedback() -> None:
    tokenizer = chat_tokenizer()
    for limit in range(26, 60):
        shown = encoder(limit)(observed("ddd", ("efefef", "gh" * 40 + "xyz")))
        assert len(tokenizer(shown)["input_ids"]) <= limit and shown.startswith("<s>system\ncc")
        if limit > 35:
            assert "xyz<e>\n<s>assistant\n" in shown and "ef" in shown


def test_a_task_that_is_too_long_loses_its_middle_and_leaves_half_of_the_room() -> None:
    shown = encoder(60)(observed("d" * 30 + "x" * 60 + "f" * 9, ("g" * 9, "h" * 9)))
    assert "dddd" in shown and "ffff<e>" in shown and "gggg" in shown and "hhhh" in shown


def test_a_system_prompt_that_fills_the_context_is_refused() -> None:
    with pytest.raises(ValueError, match="max_prompt_tokens must leave room .* got 20"):
        chat_policy(system="c" * 30, max_prompt_tokens=20)


def test_feedback_without_a_history_is_refused() -> None:
    with pytest.raises(ValueError, match="HistoryObservation"):
        chat_policy().act([{"task": "a", "feedback": "b"}])


def test_earlier_answers_stand_in_the_prompt_as_they_were_sampled() -> None:
    """ "ab" can be one token or two; the tokenizer would always choose one."""
    policy = chat_policy(max_new_tokens=3)
    a, b, ab = (policy.tokenizer.convert_tokens_to_ids(t) for t in ("a", "b", "ab"))
    with torch.no_grad():
        head = policy.model.lm_head.weight.clone()
        head[[a, b]] += 5 * head.abs().max()
        policy.model.lm_head.weight.copy_(head)
    generator = torch.Generator().manual_seed(0)
    batch = policy.act([observed("d")] * 200, generator=generator)
    rewritten = [
        i
        for i, (text, ids) in enumerate(zip(batch.actions, batch.responses, strict=True))
        if policy.tokenizer(text)["input_ids"] != [t for t in ids if t != policy.stop_ids[0]]
    ]
    assert rewritten
    i = rewritten[-1]
    later = policy.act([observed("d", (batch.actions[i], "f"))], deterministic=True)
    own = [t for t in batch.responses[i] if t != policy.stop_ids[0]]
    prompt = list(later.prompts[0])
    known = [prompt[k : k + len(own)] == own for k in range(len(prompt))]
    assert any(known) and ab not in own


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "checkpointing"])
def conversed(
    request: pytest.FixtureRequest, letter_env: Callable[..., Any]
) -> tuple[ChatPolicy, Any]:
    """A policy, and its rollout of episodes of one to three turns."""
    policy = chat_policy(
        gradient_checkpointing=request.param, temperature=0.8, max_prompt_tokens=60
    )
    envs = HistoryObservation(letter_env(6, turns=lambda seed: seed % 3 + 1))
    seeds = [0, 0, 1, 1, 2, 2]
    return policy, collect(policy, envs, seeds, generator=torch.Generator().manual_seed(2))


def test_a_turn_is_trained_under_the_very_prompt_it_was_sampled_under(conversed: Any) -> None:
    """The recorded prompts, scored again, give back the log-probabilities of the sampling."""
    policy, rollout = conversed
    samples = rollout.samples
    assert len(samples) == 12 and len(set(map(len, samples.prompts))) > 2
    scored = policy.log_probs(samples)
    for i, recorded in enumerate(samples.log_probs):
        n = len(recorded)
        assert scored.log_probs[i, :n].tolist() == pytest.approx(recorded, abs=2e-6)
        alone = teacher_forced(policy, samples.prompts[i], samples.responses[i])
        assert alone.tolist() == pytest.approx(recorded, abs=2e-6)


def test_a_later_prompt_goes_on_where_the_earlier_turn_ended(conversed: Any) -> None:
    policy, rollout = conversed
    (first, second, _) = (i for i, e in enumerate(rollout.episodes) if e == 4)
    prompt, samples = rollout.samples.prompts[second], rollout.samples
    said = tuple(t for t in samples.responses[first] if t not in policy.stop_ids)
    start = samples.prompts[first] + said
    assert prompt[: len(start)] == start


def test_the_loss_is_on_the_agents_tokens_alone(conversed: Any) -> None:
    policy, rollout = conversed
    scored = policy.log_probs(rollout.samples)
    assert scored.mask.sum(dim=1).tolist() == list(map(len, rollout.samples.responses))


def test_checkpointing_has_the_gradients_of_the_plain_pass() -> None:
    gradients = []
    for checkpointing in (False, True):
        policy = chat_policy(gradient_checkpointing=checkpointing)
        seen = [observed("d"), observed("d", ("e", "f")), observed("gggg")]
        batch = policy.act(seen, generator=torch.Generator().manual_seed(0))
        policy.log_probs(batch).log_probs.sum().backward()
        assert not any("forward" in vars(module) for module in policy.model.modules())
        gradients.append([p.grad for p in policy.parameters()])
    for one, two in zip(*gradients, strict=True):
        torch.testing.assert_close(one, two, atol=1e-5, rtol=1e-4)


def test_a_saved_policy_asks_the_same_after_loading(tmp_path: Path) -> None:
    policy = chat_policy(system="cde")
    policy.save(tmp_path)
    again = ChatPolicy.load(tmp_path)
    seen = [observed("d", ("e", "f"))]
    one, two = (p.act(seen, deterministic=True) for p in (policy, again))
    assert one == two


def lora(**settings: Any) -> ChatPolicy:
    """A policy with an adapter on a frozen backbone."""
    peft = pytest.importorskip("peft")
    tokenizer = chat_tokenizer()
    config = peft.LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM")
    torch.manual_seed(1)
    model = peft.get_peft_model(chat_model(tokenizer), config)
    return ChatPolicy(model, tokenizer, system="cc", max_new_tokens=6, **settings)


@pytest.mark.parametrize("checkpointing", [False, True])
def test_grpo_trains_an_adapter_and_leaves_the_backbone(
    letter_env: Callable[..., Any], tmp_path: Path, checkpointing: bool
) -> None:
    policy = lora(gradient_checkpointing=checkpointing)
    before = {name: p.clone() for name, p in policy.model.named_parameters()}
    envs = HistoryObservation(letter_env(8, turns=lambda seed: 2))
    learner = GRPO(policy, envs, group_size=4, learning_rate=1e-2, kl_coef=0.1)
    learner.learn(2)
    for name, parameter in policy.model.named_parameters():
        assert torch.equal(before[name], parameter) == ("lora_" not in name)
    learner.save(tmp_path / "checkpoint.pt")
    assert (tmp_path / "checkpoint.pt").stat().st_size < 400_000
    envs = HistoryObservation(letter_env(8, turns=lambda seed: 2))
    resumed = GRPO.load(
        tmp_path / "checkpoint.pt", policy=lora(gradient_checkpointing=checkpointing), envs=envs
    )
    for p in (learner, resumed):
        p.learn(3)
    for one, two in zip(policy.parameters(), resumed.policy.parameters(), strict=True):
        assert torch.equal(one, two)


def test_a_reference_shares_the_backbone_and_keeps_its_own_adapter() -> None:
    policy = lora()
    frozen = policy.frozen_copy()
    pairs = dict(frozen.model.named_parameters())
    for name, parameter in policy.model.named_parameters():
        assert (pairs[name] is parameter) == ("lora_" not in name)
        assert not pairs[name].requires_grad


def test_an_adapter_comes_back_from_its_folder(tmp_path: Path) -> None:
    base = tmp_path / "base"
    tokenizer = chat_tokenizer()
    chat_model(tokenizer).save_pretrained(base)
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM")
    model = peft.get_peft_model(LlamaForCausalLM.from_pretrained(base), config)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    policy = ChatPolicy(model, tokenizer, system="cc", max_new_tokens=6)
    policy.save(tmp_path / "adapter")
    again = ChatPolicy.load(tmp_path / "adapter")
    names = [[n for n, p in m.model.named_parameters() if p.requires_grad] for m in (policy, again)]
    assert names[0] == names[1]
    seen = [observed("d")]
    assert policy.act(seen, deterministic=True).log_probs[0] == pytest.approx(
        again.act(seen, deterministic=True).log_probs[0], abs=1e-5
    )
