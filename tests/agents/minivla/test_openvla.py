"""Checkpoints with code of their own, loaded from a folder as the Hub holds them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from testing_minivla import STATISTICS, push_envs
from testing_openvla import write_openvla

from wmrl_envs.agents import GRPO
from wmrl_envs.agents.policies.vla.base import VLAModel
from wmrl_envs.agents.policies.vla.policy import VLAPolicy
from wmrl_envs.agents.policies.vla.pretrained.openvla import OpenVLA, openvla_prompt

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A model's folder; its code is cached beside it, not in the user's home."""
    root = tmp_path_factory.mktemp("openvla")
    (root / "modules").mkdir()
    (root / "modules" / "__init__.py").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(root / "modules"))
        patch.syspath_prepend(root / "modules")
        write_openvla(root / "model")
        yield root / "model"


@pytest.fixture
def openvla(folder: Path) -> OpenVLA:
    return OpenVLA.from_pretrained(folder, trust_remote_code=True)


def observations(pictures: NDArray[np.uint8]) -> list[dict[str, Any]]:
    tasks = ("Go", "open the drawer", "turn", "go away")
    return [
        {"task": task, "agentview_image": picture}
        for task, picture in zip(tasks, pictures, strict=True)
    ]


def test_code_runs_only_if_it_is_trusted(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"read it, then pass trust_remote_code=True"):
        OpenVLA.from_pretrained(folder)


def test_greedy_actions_are_those_of_the_models_own_code(
    openvla: OpenVLA, pictures: NDArray[np.uint8]
) -> None:
    assert isinstance(openvla, VLAModel)
    seen = observations(pictures)
    batch = VLAPolicy(openvla).act(seen, deterministic=True)
    tokenizer = openvla.processor.tokenizer
    for row, action in zip(seen, batch.actions, strict=True):
        picture: Any = Image.fromarray(row["agentview_image"])
        picture = picture.resize((28, 28), Image.Resampling.LANCZOS)
        expected = openvla.model.predict_action(
            torch.tensor([tokenizer(openvla_prompt(row["task"]))["input_ids"]]),
            openvla.processor.image_processor([picture])["pixel_values"],
            "libero_90",
            tokenizer.convert_tokens_to_ids("▁"),
        )
        gripper = -np.sign(2 * expected[6] - 1)
        assert action.tolist() == pytest.approx([*expected[:6], gripper], abs=1e-6)


def test_its_action_tokens_end_before_the_padding(openvla: OpenVLA) -> None:
    assert openvla.action_tokenizer.encode([-1.0, 1.0]).tolist() == [575, 320]


def test_a_prompt_ends_with_one_blank(openvla: OpenVLA, pictures: NDArray[np.uint8]) -> None:
    assert openvla_prompt("Open IT") == "In: What action should the robot take to open it?\nOut:"
    prompt = openvla.encode(observations(pictures)[0]).prompt
    blank = openvla.processor.tokenizer.convert_tokens_to_ids("▁")
    assert prompt[-1] == blank and prompt.count(blank) == 1


def test_grpo_trains_its_adapters(openvla: OpenVLA) -> None:
    openvla.add_lora(rank=2)
    policy = VLAPolicy(openvla)
    before = [parameter.detach().clone() for parameter in policy.parameters()]
    GRPO(policy, push_envs(8), group_size=4, learning_rate=1e-2, kl_coef=0.1, seed=0).learn(2)
    assert all("lora_" in n for n, p in openvla.named_parameters() if p.requires_grad)
    after = list(policy.parameters())
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_a_saved_model_is_one_of_transformers_with_its_code(
    openvla: OpenVLA, pictures: NDArray[np.uint8], tmp_path: Path
) -> None:
    openvla.add_lora(rank=2)
    with torch.no_grad():
        for parameter in openvla.parameters():
            if parameter.requires_grad:
                parameter.normal_(std=0.3)
    batch = VLAPolicy(openvla).act(observations(pictures))
    openvla.save_pretrained(tmp_path / "saved")
    again = OpenVLA.from_pretrained(tmp_path / "saved", trust_remote_code=True)
    assert not any("lora" in name for name in again.state_dict())
    expected = VLAPolicy(openvla).log_probs(batch).log_probs
    torch.testing.assert_close(VLAPolicy(again).log_probs(batch).log_probs, expected)


def test_statistics_beside_a_finetuned_model_go_before_its_own(
    folder: Path, tmp_path: Path
) -> None:
    OpenVLA.from_pretrained(folder, trust_remote_code=True).save_pretrained(tmp_path / "tuned")
    statistics = {"libero_10_no_noops": STATISTICS["libero_90"]}
    (tmp_path / "tuned" / "dataset_statistics.json").write_text(json.dumps(statistics))
    tuned = OpenVLA.from_pretrained(
        tmp_path / "tuned", trust_remote_code=True, unnorm_key="libero_10"
    )
    assert tuned.unnorm_key == "libero_10_no_noops"


def test_a_model_of_another_build_is_refused(openvla: OpenVLA) -> None:
    with pytest.raises(TypeError, match=r"Linear lacks \['vision_backbone', 'projector', "):
        OpenVLA(torch.nn.Linear(1, 1), openvla.processor)


def test_a_folder_without_a_class_for_pictures_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for file in folder.iterdir():
        (tmp_path / "other" / file.name).write_bytes(file.read_bytes())
    config = (tmp_path / "other" / "config.json").read_text()
    (tmp_path / "other" / "config.json").write_text(
        config.replace("AutoModelForVision2Seq", "AutoModel")
    )
    with pytest.raises(ValueError, match=r"in auto_map, got \['AutoConfig', 'AutoModel'\]"):
        OpenVLA.from_pretrained(tmp_path / "other", trust_remote_code=True)


def test_an_observation_without_instruction_is_refused(
    openvla: OpenVLA, pictures: NDArray[np.uint8]
) -> None:
    with pytest.raises(ValueError, match=r"\['task'\] missing"):
        openvla.encode({"agentview_image": pictures[0]})
