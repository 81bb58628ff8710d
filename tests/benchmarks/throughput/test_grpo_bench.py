"""The GRPO comparison gives both learners the same work."""

import pytest

from wmrl_envs.benchmarks.throughput.grpo import compare_grpo
from wmrl_envs.benchmarks.throughput.grpo_contenders import OURS, TRL
from wmrl_envs.benchmarks.throughput.grpo_workload import PromptEnv, Workload, even_share


def test_prompts_have_the_asked_length_and_come_again_each_step() -> None:
    workload = Workload.quick()
    prompts, tokenizer = workload.prompts(), workload.tokenizer()
    assert all(len(tokenizer(prompt)["input_ids"]) == 32 for prompt in prompts)
    envs = PromptEnv(prompts, 4)
    first, _ = envs.reset(seed=[0, 0, 1, 1])
    assert first == (prompts[0], prompts[0], prompts[1], prompts[1])
    assert envs.reset(seed=[2, 2, 3, 3])[0] == first


def test_both_learners_are_rewarded_alike() -> None:
    texts = ["w3 w4 w5 w6 w7", "w8", ""]
    envs = PromptEnv(["w3"], 3)
    envs.reset(seed=[0, 0, 0])
    _, rewards, ended, _, _ = envs.step(texts)
    assert rewards.tolist() == even_share(texts) and ended.all()
    assert 0 < rewards[0] < 1 and rewards[2] == 0


@pytest.mark.slow
@pytest.mark.model
def test_both_learners_make_the_same_step() -> None:
    comparison = compare_grpo(Workload.quick(), 1, ["bench", "grpo"])
    figures = comparison.record["figures"]
    ours, trl = figures[OURS], figures[TRL]
    assert ours["tokens_per_step"] == pytest.approx(trl["tokens_per_step"], rel=0.2)
    for found in figures.values():
        assert found["tokens_per_cpu_s"] > 0 and found["peak_mb"] > found["before_mb"] > 100
