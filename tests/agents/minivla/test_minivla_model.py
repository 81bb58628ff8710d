"""The network's arithmetic: what stands where, which token means what."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from testing_minivla import SMALL, byte_tokenizer, small_model, write_run

from wmrl_envs.agents.policies.vla.base import ModelInput, VLAModel
from wmrl_envs.agents.policies.vla.minivla.model import MiniVLA

pytestmark = pytest.mark.model


def inputs(model: MiniVLA, pictures: NDArray[np.uint8]) -> list[ModelInput]:
    """Four observations whose prompts differ in length."""
    tasks = ["go", "open the drawer", "close the top drawer of the cabinet", "go"]
    return [
        model.encode({"task": task, "agentview_image": picture})
        for task, picture in zip(tasks, pictures, strict=True)
    ]


def started(model: MiniVLA, rows: list[ModelInput]) -> Any:
    return model.start([row.prompt for row in rows], [row.context for row in rows])


def test_it_is_a_vision_language_action_network(model: MiniVLA) -> None:
    assert isinstance(model, VLAModel)
    assert model.action_shape == (7,)


def test_the_patches_stand_after_the_first_token(
    model: MiniVLA, pictures: NDArray[np.uint8]
) -> None:
    images = torch.from_numpy(pictures[:2, :28, :28])
    embeddings, mask = model.network.embed(images, [(5, 6, 7), (8,)])
    words = model.network.llm.get_input_embeddings().weight
    patches = model.network.projector(model.network.vision_backbone(images))
    assert torch.equal(embeddings[0], torch.cat([words[5:6], patches[0], words[6:8]]))
    assert torch.equal(embeddings[1], torch.cat([torch.zeros(2, 16), words[8:9], patches[1]]))
    assert mask.tolist() == [[1] * 7, [0, 0] + [1] * 5]


@torch.no_grad()
def test_logits_are_those_of_qwen_on_the_embedded_row(
    model: MiniVLA, pictures: NDArray[np.uint8]
) -> None:
    row = inputs(model, pictures)[1]
    embeddings, _ = model.network.embed(torch.from_numpy(row.context["image"])[None], [row.prompt])
    tokens = torch.tensor([[514, 300, 259]])
    appended = torch.cat([embeddings, model.network.llm.get_input_embeddings()(tokens)], dim=1)
    whole = model.network.llm(inputs_embeds=appended).logits[:, -4:]
    decoding = started(model, [row])
    found = torch.cat([decoding.logits[:, None], decoding.append(tokens)], dim=1)
    # 515 tokens: the first bin is token 514, the last one 259.
    torch.testing.assert_close(found, whole[..., 259:515].flip(-1))


@torch.no_grad()
def test_a_row_does_not_depend_on_the_others(model: MiniVLA, pictures: NDArray[np.uint8]) -> None:
    rows = inputs(model, pictures)
    tokens = torch.tensor([[514, 400], [259, 260], [300, 301], [302, 303]])
    together = started(model, rows)
    batched = torch.cat([together.logits[:, None], together.append(tokens)], dim=1)
    for i, row in enumerate(rows):
        alone = started(model, [row])
        single = torch.cat([alone.logits[:, None], alone.append(tokens[i : i + 1])], dim=1)
        torch.testing.assert_close(single[0], batched[i])


def test_another_picture_gives_other_logits(model: MiniVLA, pictures: NDArray[np.uint8]) -> None:
    rows = inputs(model, pictures)
    logits = started(model, [rows[0], rows[3]]).logits
    assert (logits[0] - logits[1]).abs().max() > 1e-4


def test_action_tokens_have_openvlas_numbers(model: MiniVLA) -> None:
    tokens = model.action_tokenizer
    # len(tokenizer) = 515; bin d = digitize(value, linspace(-1, 1, 256)); token 515 - d.
    assert tokens.encode([-1.0, -0.995, 0.0, 1.0]).tolist() == [514, 514, 387, 259]
    # bin_centers[clip(515 - token - 1, 0, 254)]; a bin is 2 / 255 wide.
    width = 2 / 255
    expected = [-1 + width / 2, -1 + 1.5 * width, 1 - width / 2, 1 - width / 2]
    assert tokens.decode([514, 513, 260, 259]) == pytest.approx(np.array(expected))


def test_without_extra_tokens_the_last_words_are_the_actions(tmp_path: Path) -> None:
    write_run(tmp_path / "run", action_tokenizer="action_tokenizer")
    model = MiniVLA.from_pretrained(
        tmp_path / "run", tokenizer=byte_tokenizer(), architecture=SMALL
    )
    assert model.action_tokenizer.encode([-1.0, 1.0]).tolist() == [255, 0]


def test_decoded_values_become_actions_of_libero(model: MiniVLA) -> None:
    values = np.array([[-1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.9961]])
    assert model.to_actions(values)[0].tolist() == pytest.approx(
        [-0.5, 1.0, 0.25, 0.0, 0.0, 0.3, -1.0]
    )


def test_tokens_of_an_action_decode_to_it(model: MiniVLA) -> None:
    actions = np.array([[0.2, -0.4, 0.3, 0.02, 0.1, -0.3, 1.0]], np.float32)
    tokens = model.action_tokenizer.encode(model.from_actions(actions))
    again = model.to_actions(model.action_tokenizer.decode(tokens))
    # Half a bin of the widest range, 2 units.
    assert again == pytest.approx(actions, abs=1 / 255 + 1e-6)


def test_an_observation_without_picture_or_instruction_is_refused(model: MiniVLA) -> None:
    with pytest.raises(ValueError, match=r"'agentview_image' and 'task', \['agentview_image'\]"):
        model.encode({"task": "go"})


def test_augmented_training_means_a_crop_unless_told_otherwise(tmp_path: Path) -> None:
    write_run(tmp_path)
    config = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").write_text(config.replace('"seed"', '"image_aug": true, "seed"'))
    settings: dict[str, Any] = {"tokenizer": byte_tokenizer(), "architecture": SMALL}
    assert MiniVLA.from_pretrained(tmp_path, **settings).crop
    assert not MiniVLA.from_pretrained(tmp_path, crop=False, **settings).crop


def test_half_precision_runs(tmp_path: Path, pictures: NDArray[np.uint8]) -> None:
    model = small_model(tmp_path / "run", dtype=torch.bfloat16)
    logits = started(model, inputs(model, pictures)).logits
    assert logits.dtype == torch.float32 and bool(torch.isfinite(logits).all())
