"""``wmrl sft vla``: from demonstrations to a policy and its figures."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from testing_demonstrations import made_up

from wmrl_envs.agents.policies.vla import VLAPolicy
from wmrl_envs.benchmarks import cli
from wmrl_envs.libero.demonstrations import Recipe, Store

SMALL = ("--states", "0-2", "--episodes", "2", "--steps", "3", "--batch-size", "4")
SMALL += ("--width", "32", "--layers", "1", "--action-chunk", "2", "--held-out", "0.3")


@pytest.fixture
def sft(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str, code: int = 0) -> str:
        folders = (str(tmp_path / "demos"), str(tmp_path / "out"))
        with pytest.raises(SystemExit) as ended:
            cli.main(["sft", "vla", *folders, *arguments])
        out, err = capsys.readouterr()
        assert ended.value.code == code, out + err
        return out + err

    return run


@pytest.fixture
def demonstrations(tmp_path: Path) -> None:
    """Six successes from three initial states, made up."""
    store = Store(tmp_path / "demos" / "episodes")
    for state in range(3):
        for seed in range(2):
            store.add(made_up(Recipe(5, state, seed, noise=0.1)))


@pytest.mark.usefixtures("demonstrations")
def test_it_clones_recorded_demonstrations_and_reports_the_held_out_loss(
    sft: Any, tmp_path: Path
) -> None:
    assert "held-out loss" in sft(*SMALL)
    record = json.loads((tmp_path / "out" / "results.json").read_text())
    assert record["command"].startswith("wmrl") and "torch" in record["versions"]
    assert record["settings"]["steps"] == 3
    assert record["held_out"]["moments"] == 10
    policy = VLAPolicy.load(tmp_path / "out" / "policy")
    demonstration = made_up(Recipe(5, 0, noise=0.1))
    seen = {name: values[0] for name, values in demonstration.observations.items()}
    action = policy.act([{"task": "do it", **seen}]).actions[0]
    assert action.shape == (2, 7) and np.isfinite(action).all()


@pytest.mark.usefixtures("demonstrations")
def test_a_second_call_goes_on_from_the_checkpoint_and_refuses_other_settings(
    sft: Any, tmp_path: Path
) -> None:
    sft(*SMALL)
    weights = tmp_path / "out" / "policy" / "model.safetensors"
    before = weights.read_bytes()
    sft(*SMALL)
    assert weights.read_bytes() == before
    assert "the saved run has settings" in sft(*SMALL, "--learning-rate", "0.5", code=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--task", "11"), "--task must name"),
        (("--steps", "0"), "steps must be at least 1"),
        (("--observation", "pixels", "--pixels", "20"), "image_size must be a multiple of 16"),
    ],
)
def test_wrong_arguments_are_named_before_any_work(
    sft: Any, arguments: tuple[str, ...], message: str
) -> None:
    assert message in sft(*arguments, code=2)


@pytest.mark.slow
@pytest.mark.sim
def test_it_records_what_is_lacking_renders_it_and_plays_the_policy(
    sft: Any, tmp_path: Path
) -> None:
    small = ("--task", "5", "--states", "0", "--episodes", "2", "--steps", "2", "--width", "32")
    printed = sft(*small, "--observation", "pixels", "--pixels", "16", "--evaluate", "1")
    assert "task 5: 0 of 1 episodes succeeded" in printed
    record = json.loads((tmp_path / "out" / "results.json").read_text())
    assert record["successes"] == {"5": {"states": [0], "successes": [False]}}
    assert len(list(Store(tmp_path / "demos" / "episodes"))) == 2
