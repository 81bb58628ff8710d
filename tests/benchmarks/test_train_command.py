"""``wmrl train``: options from a file, a run's own file, trackers, and how a run goes on."""

import sys
from pathlib import Path
from typing import Any

import pytest
from testing_runs import tiny

from wmrl_envs.benchmarks import cli
from wmrl_envs.benchmarks.autoresearch.compare import options
from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.records import read_lines
from wmrl_envs.benchmarks.autoresearch.train import train

AUTORESEARCH = ("train", "autoresearch")


@pytest.fixture
def wmrl(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command line; returns the exit code and what it printed."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> tuple[Any, str, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main([str(argument) for argument in arguments])
        return (ended.value.code, *capsys.readouterr())

    return run


@pytest.mark.model
@pytest.mark.usefixtures("instant")
def test_a_runs_own_file_starts_it_again_and_a_folder_goes_on(wmrl: Any, tmp_path: Path) -> None:
    config = tiny(steps=1)
    code, out, _ = wmrl(*AUTORESEARCH, tmp_path / "a", *options(config))
    assert code == 0 and "reward" in out and "executions" in out
    file = tmp_path / "a" / "config.yaml"
    code, out, err = wmrl(*AUTORESEARCH, tmp_path / "b", "--config", file, "--arm", "real")
    assert code == 0, out + err
    assert RunConfig.read(tmp_path / "b" / "config.json") == config.with_(arm="real")
    code, out, _ = wmrl("train", "resume", tmp_path / "b")
    assert code == 0 and "Wrote" in out
    assert len(read_lines(tmp_path / "b" / "steps.jsonl")) == 1


def test_printed_options_are_read_back(wmrl: Any, tmp_path: Path) -> None:
    code, printed, _ = wmrl(*AUTORESEARCH, "out", "--policy", "smollm2", "--print-config")
    assert code == 0 and "world_model: policy" in printed
    (tmp_path / "run.yaml").write_text(printed)
    again = wmrl(*AUTORESEARCH, "out", "--config", tmp_path / "run.yaml", "--print-config")
    assert again == (0, printed, "")


def test_an_unknown_option_in_a_file_is_one_line(wmrl: Any, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("stepps: 3\n")
    code, _, err = wmrl(*AUTORESEARCH, tmp_path / "run", "--config", tmp_path / "run.yaml")
    assert code == 2 and err.count("\n") == 1 and "'stepps'; did you mean 'steps'?" in err


def test_a_tracker_that_is_not_installed_is_one_line(
    wmrl: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    code, _, err = wmrl(*AUTORESEARCH, tmp_path / "run", "--track", "wandb")
    assert code == 2 and "pip install wandb" in err and not (tmp_path / "run").exists()


def test_a_folder_without_a_run_does_not_go_on(wmrl: Any, tmp_path: Path) -> None:
    code, _, err = wmrl("train", "resume", tmp_path)
    assert code == 2 and "config.json" in err


@pytest.mark.model
@pytest.mark.usefixtures("instant")
def test_a_model_of_ones_own_converses_with_an_adapter(tmp_path: Path) -> None:
    """Two turns, LoRA and checkpointing, through the whole run."""
    import torch
    from testing_letters import letter_model, letter_tokenizer
    from transformers import LlamaForCausalLM

    shape = letter_model().config
    shape.max_position_embeddings = 2048  # the system prompt has a token a letter
    torch.manual_seed(0)
    LlamaForCausalLM(shape).save_pretrained(tmp_path / "model")
    letter_tokenizer().save_pretrained(tmp_path / "model")
    config = tiny(
        policy=str(tmp_path / "model"), arm="real", turns=2, lora_rank=2,
        gradient_checkpointing=True, steps=1, group_size=2,
    )  # fmt: skip
    train(config, tmp_path / "run")
    (line,) = read_lines(tmp_path / "run" / "steps.jsonl")
    assert line["rollout/turns_mean"] == 2.0
    assert (tmp_path / "run" / "policy" / "adapter_model.safetensors").is_file()
