"""The scaffold around one line, and the policy that writes the line."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from wmrl_envs.agents.smollm2.policy import ScaffoldPolicy, is_scaffold, scaffold_policy
from wmrl_envs.agents.smollm2.scaffold import line_of, program, prompt
from wmrl_envs.autoresearch import catalog

TASKS = {"concrete": "Ridge()", "digits": "GaussianNB()", "surname-language": "GaussianNB()"}
TASKS |= {"breast-cancer": "GaussianNB()", "meats-nir": "LinearRegression()"}


def card(name: str) -> dict[str, str]:
    (task,) = catalog.resolve([name])
    return {"task": task.card()}


@pytest.mark.parametrize("name", sorted(TASKS))
def test_the_line_comes_back_out_of_its_program(name: str) -> None:
    script = program(card(name), f" {TASKS[name]}\nmodel = None")
    compile(script, "solution.py", "exec")
    assert line_of(script) == f"model = {TASKS[name]}"


def test_another_script_is_its_own_line() -> None:
    assert line_of("print(1)\nx = 2") == "print(1)\nx = 2"


def test_the_prompt_names_the_task_and_fitting_estimators() -> None:
    assert "tabular regression, rmse, 703 rows, 8 columns" in prompt(card("concrete"))
    assert "Ridge, Lasso" in prompt(card("concrete")) and "Classifier" in prompt(card("digits"))
    with pytest.raises(ValueError, match="card must be the three lines"):
        prompt({"task": "Write a program."})


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("name", sorted(TASKS))
def test_the_program_solves_its_task(name: str) -> None:
    import gymnasium as gym

    env = gym.make("wmrl_envs:WMRL/AutoResearch-v0", tasks=name, observation="card")
    observation, _ = env.reset(seed=0)
    _, reward, _, _, info = env.step(program(observation, TASKS[name]))
    env.close()
    assert info["grade_status"] == "valid" and reward >= 0.5


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random model with the embedded policy's tokenizer."""
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from wmrl_envs.agents.embedded.policy import WEIGHTS

    folder = tmp_path_factory.mktemp("base")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(WEIGHTS)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=2048,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.model
def test_actions_are_programs_and_answers_end_with_their_line(base: Path) -> None:
    policy = scaffold_policy(base, rank=2)
    seen = [card("concrete"), card("digits")] * 20
    batch = policy.act(seen, generator=torch.Generator().manual_seed(0))
    for action, response in zip(batch.actions, batch.responses, strict=True):
        assert line_of(action).startswith("model =") and "submission.csv" in action
        assert not set(response[:-1]) & set(policy.stop_ids)
    assert len({action.partition("\n")[0] for action in batch.actions}) == 1


@pytest.mark.model
def test_a_saved_adapter_goes_on_writing_and_learning(base: Path, tmp_path: Path) -> None:
    policy: Any = scaffold_policy(base, rank=2)
    for name, parameter in policy.model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        policy.save(tmp_path / "policy")
    assert is_scaffold(tmp_path / "policy") and not is_scaffold(base)
    again = ScaffoldPolicy.load(tmp_path / "policy")
    seen = [card("concrete")]
    first, second = (p.act(seen, deterministic=True) for p in (policy, again))
    assert first.actions == second.actions
    sizes = [sum(p.numel() for p in each.parameters()) for each in (policy, again)]
    assert sizes[0] == sizes[1] > 0
