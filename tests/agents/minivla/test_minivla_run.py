"""Which runs can be loaded, and what is said of the others."""

import json
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError
from testing_minivla import SMALL, byte_tokenizer, write_run

from wmrl_envs.agents.policies.vla.minivla.architecture import PUBLISHED
from wmrl_envs.agents.policies.vla.minivla.model import MiniVLA
from wmrl_envs.agents.policies.vla.minivla.run import Run, local_run

pytestmark = pytest.mark.model


def test_a_vector_quantised_run_is_refused_with_the_reason(tmp_path: Path) -> None:
    write_run(tmp_path / "run", action_tokenizer="libero_vq_extra_action_tokenizer")
    with pytest.raises(ValueError, match=r"got 'libero_vq_extra.*vq_bet_official"):
        Run.read(tmp_path / "run", SMALL)


@pytest.mark.parametrize("inputs", [{"image_sequence_len": 2}, {"use_wrist_image": True}])
def test_a_run_that_sees_several_pictures_is_refused(
    tmp_path: Path, inputs: dict[str, Any]
) -> None:
    write_run(tmp_path / "run", **inputs)
    with pytest.raises(ValueError, match="only models that see one picture of one camera"):
        Run.read(tmp_path / "run", SMALL)


def test_a_run_on_another_base_model_needs_its_architecture(tmp_path: Path) -> None:
    write_run(tmp_path / "run", base_vlm="prism-dinosiglip-224px+7b")
    with pytest.raises(ValueError, match=r"architecture given, got 'prism-dinosiglip-224px\+7b'"):
        Run.read(tmp_path / "run")
    assert Run.read(tmp_path / "run", SMALL).architecture == SMALL


@pytest.mark.parametrize(
    ("base", "extra"),
    [
        ("prism-qwen25-extra-dinosiglip-224px+0_5b", 256),
        ("/models/prism-qwen25-extra-dinosiglip-224px-0_5b/", 256),
        ("prism-qwen25-dinosiglip-224px+0_5b", 0),
    ],
)
def test_the_base_model_tells_shapes_and_extra_tokens(
    tmp_path: Path, base: str, extra: int
) -> None:
    write_run(tmp_path / "run", base_vlm=base)
    run = Run.read(tmp_path / "run")
    assert (run.architecture, run.extra_tokens) == (PUBLISHED, extra)


def test_a_vision_language_model_that_is_no_robot_policy_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    (tmp_path / "run" / "config.json").write_text(json.dumps({"model": {}}))
    with pytest.raises(ValueError, match="is it a VLA"):
        Run.read(tmp_path / "run", SMALL)


def test_a_run_without_statistics_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    (tmp_path / "run" / "dataset_statistics.json").unlink()
    with pytest.raises(FileNotFoundError, match="must hold dataset_statistics.json"):
        Run.read(tmp_path / "run", SMALL)


def test_an_unreachable_hub_is_named_with_the_way_around_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*args: Any, **kwargs: Any) -> str:
        raise LocalEntryNotFoundError("no connection")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(
        OSError, match=r"(?s)'org/run'.*copy the folder \(config.json, .*no connection"
    ):
        MiniVLA.from_pretrained("org/run", tokenizer=byte_tokenizer())


def test_only_the_named_checkpoint_is_downloaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = {}

    def download(source: str, **settings: Any) -> str:
        asked.update(source=source, **settings)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert local_run("org/run", step=1500, revision="v1") == tmp_path
    assert asked["source"] == "org/run" and asked["revision"] == "v1"
    assert asked["allow_patterns"][-1] == "checkpoints/step-001500-*.pt"


def test_a_missing_tokenizer_is_named(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    with pytest.raises(OSError, match="cannot load the tokenizer.*Qwen2.5-0.5B.*tokenizer="):
        MiniVLA.from_pretrained(tmp_path / "run", tokenizer=tmp_path / "none", architecture=SMALL)
